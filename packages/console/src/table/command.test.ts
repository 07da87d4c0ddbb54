import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandOf, optionsOf } from './command.ts'

const spec = { command: 'holdfast device list', defaultSort: '-enrolled_at' }

test('a list without filters is the bare command', () => {
  assert.equal(commandOf(spec, { q: '', filters: {}, sort: '-enrolled_at' }), 'holdfast device list')
})

test('filters, text and order become options of the command line', () => {
  const filters = { user_id: 'usr_1', effective_status: 'active', unseen_for: '2592000', seen_within: '5400' }
  assert.equal(
    commandOf(spec, { q: 'kst mbp', filters, sort: '-name' }),
    "holdfast device list --q='kst mbp' --user=usr_1 --effective-status=active --unseen-for=30d --seen-within=5400s --sort=-name",
  )
})

test('a list can rename an option or leave it out', () => {
  assert.deepEqual(optionsOf({ sort: 'name', seen: 'x' }, { sort: false, seen: 'seen-at' }), ['--seen-at=x'])
})

test('option values are quoted for the shell', () => {
  assert.deepEqual(optionsOf({ tag: "it's $HOME; rm" }), ["--tag='it'\\''s $HOME; rm'"])
})

test('true and false become yes and no', () => {
  assert.deepEqual(optionsOf({ mfa: 'false', locked: 'true', has_devices: 'true' }), [
    '--mfa=no',
    '--locked=yes',
    '--has-devices=yes',
  ])
})
