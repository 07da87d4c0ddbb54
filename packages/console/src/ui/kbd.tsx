import type { ReactNode } from 'react'

/**
 * A key that does the same as the thing beside it. Assistive technology is told by `aria-keyshortcuts` where it helps.
 *
 * @example <Kbd>R</Kbd>
 */
export const Kbd = ({ children }: { children: ReactNode }) => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a kbd cannot take the focus
  <kbd aria-hidden="true">{children}</kbd>
)
