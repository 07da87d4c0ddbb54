import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paths } from '../src/paths.ts'
import { inBrowser, openGround } from './ground.ts'
import { traits, views } from './views.ts'
import { walkView } from './walk.ts'

test('the walk knows every view of the console', () => {
  assert.deepEqual(Object.keys(traits), [...paths])
})

for (const view of views)
  test(`${view.name}: accessible, and within its security policy`, inBrowser, async (t) => {
    await walkView(t, await openGround(), view, { colorScheme: 'light', width: 1440 })
  })
