import './user.css'
import type { ReactNode } from 'react'
import { Frame } from '../../ui/frame.tsx'
import type { User } from '../users/words.ts'

/** Properties of each tab of a user. */
export type TabProps = { user: User; inPanel: boolean }
type Props = {
  title: string
  inPanel: boolean
  aside?: ReactNode
  /** `flush` for a table up to the edges of the frame; `none` for rows of settings. */
  inset?: 'flush' | 'none' | undefined
  children: ReactNode
}

/** Topic of a user: a section in the panel, a frame on the page. */
export const Part = ({ title, inPanel, aside, inset, children }: Props) =>
  inPanel ? (
    <section className="sect">
      <div className="row between">
        <h3>{title}</h3>
        {aside}
      </div>
      {children}
    </section>
  ) : (
    <Frame title={title} aside={aside} inset={inset}>
      {inset === undefined ? <div className="stack part">{children}</div> : children}
    </Frame>
  )
