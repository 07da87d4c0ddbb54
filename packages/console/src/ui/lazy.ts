import { type ComponentType, lazy } from 'react'

/**
 * A component whose module is loaded at the first use. `preload` on hover or focus hides the wait.
 *
 * @example const popover = lazily(() => import('./menu-popover.tsx').then((m) => m.MenuPopover))
 */
export function lazily<P extends object>(load: () => Promise<ComponentType<P>>) {
  let loading: Promise<{ default: ComponentType<P> }> | undefined
  const once = () => {
    loading ??= load().then(
      (component) => ({ default: component }),
      (cause: unknown) => {
        loading = undefined
        throw cause
      },
    )
    return loading
  }
  // A failed preload is not the end: the first use tries again.
  const preload = () => void once().catch(() => undefined)
  return { Component: lazy(once), preload }
}
