import type { ReactNode, Ref } from 'react'

type Props = { ref?: Ref<HTMLElement>; className: string; label: string; children: ReactNode }

/** Scrolling part of the page. It takes the focus, so that the keyboard can scroll it. */
export const ScrollRegion = ({ ref, className, label, children }: Props) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
  <section ref={ref} className={className} tabIndex={0} aria-label={label}>
    {children}
  </section>
)
