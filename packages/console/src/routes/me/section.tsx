import type { ReactNode } from 'react'

type Props = { id: string; title: string; aside?: ReactNode; children: ReactNode }

/** Part of the page; the list at the left links to it. */
export const Section = ({ id, title, aside, children }: Props) => (
  <section className="sect" id={id} aria-labelledby={`${id}-title`}>
    <div className="row between">
      <h2 id={`${id}-title`}>{title}</h2>
      {aside !== undefined && <span className="soft xs">{aside}</span>}
    </div>
    <div className="frame">{children}</div>
  </section>
)
