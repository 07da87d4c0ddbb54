import { type ComponentProps, Suspense } from 'react'
import { lazily } from '../../ui/lazy.tsx'
import type { GroupPanel as Panel } from './panel.tsx'

const panel = lazily(() => import('./panel.tsx').then((module) => module.GroupPanel))
/** Delay of the preload, so that the list loads first. The first click then opens the panel at once. */
const preloadMs = 1_500
setTimeout(() => document.hidden || panel.preload(), preloadMs)

/** Panel beside the list, loaded as its own module, since the list works without it. */
export const GroupPanel = (props: ComponentProps<typeof Panel>) => (
  <Suspense>
    <panel.Component {...props} />
  </Suspense>
)
