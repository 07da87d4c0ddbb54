import assert from 'node:assert/strict'
import { test } from 'node:test'
import { walkHelp } from '../test/support/help-walk.ts'
import { startShell } from '../test/support/shell.ts'

test('every command has help, and an example of itself', async (t) => {
  const { run } = await startShell(t)
  assert.ok((await walkHelp(run)) > 50)
})
