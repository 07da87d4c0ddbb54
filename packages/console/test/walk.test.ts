import { test } from 'node:test'
import { inBrowser, openGround } from './ground.ts'
import { views } from './views.ts'
import { walkView } from './walk.ts'

for (const view of views)
  test(`${view.name}: accessible, within its security policy, and as reviewed`, inBrowser, async (t) => {
    await walkView(t, await openGround(), view, { colorScheme: 'light', width: 1440 })
  })
