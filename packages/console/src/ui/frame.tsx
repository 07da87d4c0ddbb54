import { type ReactNode, useId } from 'react'
import { classes } from './classes.ts'

type FrameProps = {
  /** Makes the region a place that links go to. */
  id?: string | undefined
  title: ReactNode
  /** Links or figures at the right of the title. */
  aside?: ReactNode
  footer?: ReactNode
  /** `flush` for a table to the edges; `none` where the children bring their own. */
  inset?: 'flush' | 'none' | undefined
  /** The columns of the grid it spans: `c6`. */
  className?: string | undefined
  children: ReactNode
}

/**
 * A region of the page with one line around it.
 *
 * @example <Frame title="Gateways" className="c6" aside={<AppLink to="/admin/gateways">All</AppLink>}>…</Frame>
 */
export function Frame({ id: place, title, aside, footer, inset, className, children }: FrameProps) {
  const id = useId()
  return (
    <section id={place} className={classes('frame', className)} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside !== undefined && <span className="aside">{aside}</span>}
      </header>
      {inset === 'none' ? children : <div className={classes('in', inset)}>{children}</div>}
      {footer !== undefined && <footer>{footer}</footer>}
    </section>
  )
}
