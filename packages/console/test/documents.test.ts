import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { features } from '../src/features.ts'

test('docs/console.md names every view with its key', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/console.md'), 'utf8')
  const rows = features.map(({ path, label, shortcut }) => {
    const key = shortcut === undefined ? '' : `\`g ${shortcut}\` `
    return `| \`${path}\` | ${label} | ${key}|`
  })
  assert.deepEqual(
    page.split('\n').filter((line) => line.startsWith('| `/admin')),
    rows,
  )
})
