import { test } from 'node:test'
import { inBrowser, openGround } from './ground.ts'
import { overlays } from './overlays.ts'
import type { ColorScheme } from './page.ts'
import { views } from './views.ts'
import { walkView } from './walk.ts'

const widths = [1440, 375] as const

/** Defines a test for each view and overlay at each width, against its reviewed screenshot. */
export function defineWalk(colorScheme: ColorScheme): void {
  for (const view of [...views, ...overlays])
    for (const width of widths.filter((one) => (view.width ?? one) === one))
      test(`${view.name}, ${colorScheme}, ${width} pixels wide`, inBrowser, async (t) => {
        await walkView(t, await openGround(), view, { colorScheme, width, isCompared: true })
      })
}
