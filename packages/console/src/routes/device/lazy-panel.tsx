import { type ComponentProps, Suspense } from 'react'
import { lazily } from '../../ui/lazy.tsx'
import type { DevicePanel as Panel } from './panel.tsx'

const panel = lazily(() => import('./panel.tsx').then((module) => module.DevicePanel))
/** After the list has been drawn, so that the first click opens the panel at once. */
const preloadMs = 1_500
setTimeout(() => document.hidden || panel.preload(), preloadMs)

/** The panel beside the list, which is no part of what the list needs to be usable. */
export const DevicePanel = (props: ComponentProps<typeof Panel>) => (
  <Suspense>
    <panel.Component {...props} />
  </Suspense>
)
