import { Component, type ComponentType, lazy } from 'react'
import { toast } from './toast.tsx'

/**
 * Returns a component whose module is loaded at first use. `preload` on hover or focus hides the delay. If the module
 * cannot be loaded, a message is shown and `onClose` of the component is called. Browsers remember such a failure until
 * the page is reloaded.
 *
 * @example const popover = lazily(() => import('./menu-popover.tsx').then((m) => m.MenuPopover))
 */
export function lazily<P extends object>(load: () => Promise<ComponentType<P>>) {
  let loading: Promise<{ default: ComponentType<P> }> | undefined
  const once = () => {
    loading ??= load().then(
      (component) => ({ default: component }),
      (cause: unknown) => {
        throw new NotLoaded('a module of the console could not be loaded', { cause })
      },
    )
    return loading
  }
  const part = lazy(once) as ComponentType<P>
  const preload = () => void once().catch(() => undefined)
  return { Component: (props: P) => <Part part={part} props={props} />, preload }
}

class NotLoaded extends Error {}

type PartProps<P> = { part: ComponentType<P>; props: P }

/** Renders nothing if its part could not be loaded. Rethrows other errors to the view. */
class Part<P extends object> extends Component<PartProps<P>, { error?: Error }> {
  override state: { error?: Error } = {}

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override componentDidCatch(error: Error): void {
    if (!(error instanceof NotLoaded)) return
    const text = 'A part of the console could not be loaded. Load the page again once the server answers.'
    toast({ kind: 'bad', title: 'This could not be opened', text })
    const { onClose } = this.props.props as { onClose?: () => void }
    onClose?.()
  }

  override render() {
    const { error } = this.state
    if (error instanceof NotLoaded) return null
    if (error) throw error
    const { part: Loaded, props } = this.props
    return <Loaded {...props} />
  }
}
