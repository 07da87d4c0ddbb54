import './part.css'
import type { ReactNode } from 'react'
import { Frame } from './frame.tsx'

type Props = {
  title: string
  inPanel: boolean
  aside?: ReactNode
  /** `flush` for a table up to the edges of the frame; `none` for rows of settings. */
  inset?: 'flush' | 'none' | undefined
  children: ReactNode
}

/**
 * Topic of an object: a section in the panel, a frame on the page.
 *
 * @example <Part title="Groups" inPanel={inPanel}>…</Part>
 */
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
