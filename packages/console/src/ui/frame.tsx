import { type ReactNode, useId } from 'react'
import { classes } from './classes.ts'

type FrameProps = {
  /** Anchor for links to the region. */
  id?: string | undefined
  title: ReactNode
  /** Facts beside the title: a badge, a digest. */
  marks?: ReactNode
  /** Links or figures at the right of the title. */
  aside?: ReactNode
  footer?: ReactNode
  /** `flush` for a table up to the edges; `none` if the children have their own inset. */
  inset?: 'flush' | 'stack' | 'none' | undefined
  /** Width in columns of the grid: `c6`. */
  className?: string | undefined
  children: ReactNode
}

/**
 * Region of the page with a border.
 *
 * @example <Frame title="Gateways" className="c6" aside={<AppLink to="/admin/gateways">All</AppLink>}>…</Frame>
 */
export function Frame({ id: place, title, marks, aside, footer, inset, className, children }: FrameProps) {
  const id = useId()
  return (
    <section id={place} className={classes('frame', className)} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {marks}
        {aside !== undefined && <span className="aside">{aside}</span>}
      </header>
      {inset === 'none' ? children : <div className={classes('in', inset)}>{children}</div>}
      {footer !== undefined && <footer>{footer}</footer>}
    </section>
  )
}
