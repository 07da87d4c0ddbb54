import type { ReactNode } from 'react'

/**
 * Key that does the same as the control beside it. `aria-keyshortcuts` tells assistive technology where it helps.
 *
 * @example <Kbd>R</Kbd>
 */
export const Kbd = ({ children }: { children: ReactNode }) => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a kbd cannot take the focus
  <kbd aria-hidden="true">{children}</kbd>
)

/**
 * Keys and their effect, at the foot of a list or a panel.
 *
 * @example <Hint keys={['j', 'k']} does="move" />
 */
export const Hint = ({ keys, does }: { keys: readonly string[]; does: string }) => (
  <span className="hint">
    {keys.map((key) => (
      <Kbd key={key}>{key}</Kbd>
    ))}{' '}
    {does}
  </span>
)
