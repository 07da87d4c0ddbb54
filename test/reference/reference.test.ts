import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { errorsPage } from './errors.ts'
import { eventsPage } from './events.ts'
import { rolesPage } from './roles.ts'

const folder = join(import.meta.dirname, '../../docs/reference')
const generated = { 'errors.md': errorsPage, 'events.md': eventsPage, 'roles.md': rolesPage }

for (const [name, generate] of Object.entries(generated))
  test(`docs/reference/${name} is the one generated from the contract`, () => {
    const page = generate()
    if (process.env.UPDATE_GOLDEN) writeFileSync(join(folder, name), page)
    assert.equal(readFileSync(join(folder, name), 'utf8'), page, 'renew it with UPDATE_GOLDEN=1')
  })
