import { test } from 'node:test'
import { inBrowser, openGround } from './ground.ts'
import { overlays } from './overlays.ts'
import type { ColorScheme } from './page.ts'
import { views } from './views.ts'
import { walkView } from './walk.ts'

/** Defines a test for each view and overlay at each width, against its reviewed screenshot. */
export function defineWalk(colorScheme: ColorScheme): void {
  for (const width of [1440, 375] as const)
    for (const view of [...views, ...overlays].filter((one) => (one.width ?? width) === width))
      test(`${view.name}, ${colorScheme}, ${width} pixels wide`, inBrowser, async (t) => {
        await walkView(t, await openGround(), view, { colorScheme, width, isCompared: true })
      })
}
