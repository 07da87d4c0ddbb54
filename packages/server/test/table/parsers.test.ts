import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as crypto from '@holdfast/crypto'
import { brokenParsers, lenientParsers } from './parsers.ts'
import { everyParser } from './parsers-server.ts'

test('every parser reads a mutant of valid input, or refuses it with its own error', async () => {
  assert.deepEqual(await brokenParsers(await everyParser(), 200), [])
})

test('a compact JWS has one accepted spelling for every verifier', async () => {
  assert.deepEqual(await lenientParsers(await everyParser()), [])
})

/** Functions of `@holdfast/crypto` with such names that do not parse foreign input, or that a listed parser calls. */
const notParsers = ['verifyDummy', 'verifyPassword', 'readToken', 'readIssuer']
test('the table lists every reader of the crypto package', async () => {
  const names = (await everyParser()).map(({ name }) => name)
  const readers = Object.keys(crypto).filter((name) => /^(read|verify|parse|peek|open|decode|import)[A-Z]/.test(name))
  const missing = readers.filter(
    (name) => !notParsers.includes(name) && name !== 'openKek' && !names.some((row) => row.startsWith(name)),
  )
  assert.deepEqual(missing, [])
})
