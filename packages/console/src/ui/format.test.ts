import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  formatBitRate,
  formatBytes,
  formatCount,
  formatInitials,
  formatList,
  formatNumber,
  formatPercent,
  formatWord,
  shortDigest,
  shortId,
} from './format.ts'

test('numbers have comma groups, and a space before the unit', () => {
  assert.equal(formatNumber(1284), '1,284')
  assert.equal(formatCount(1, 'device'), '1 device')
  assert.equal(formatCount(1500, 'device'), '1,500 devices')
  assert.equal(formatCount(2, 'entry', 'entries'), '2 entries')
  assert.equal(formatBytes(0), '0 B')
  assert.equal(formatBytes(999), '999 B')
  assert.equal(formatBytes(412_000_000), '412 MB')
  assert.equal(formatBytes(1_500), '1.5 kB')
  assert.equal(formatBytes(999_960), '1 MB')
  assert.equal(formatBytes(2.5e18), '2,500 PB')
  assert.equal(formatBitRate(48_200_000), '48.2 Mbit/s')
})

test('a percentage is 0 or 100 only if the share is exactly 0 or 1', () => {
  assert.equal(formatPercent(0.856), '85.6 %')
  assert.equal(formatPercent(0), '0 %')
  assert.equal(formatPercent(1), '100 %')
  assert.equal(formatPercent(0.0001), '< 0.1 %')
  assert.equal(formatPercent(0.9999), '> 99.9 %')
})

test('an id keeps its prefix and its last six characters', () => {
  assert.equal(shortId('dev_01ke9m4d0cft8z2n6h1x5w3b7q'), 'dev_…5w3b7q')
  assert.equal(shortId('dev_abc'), 'dev_abc')
  assert.equal(shortId('01ke9m4d0cft8z2n6h1x5w3b7q'), '…5w3b7q')
  assert.equal(shortDigest('sha256:9f86d081884c7d659a2f'), '9f86d081')
})

test('values of the API are shown as words', () => {
  assert.equal(formatWord('non_compliant'), 'Fails')
  assert.equal(formatWord('on_it'), 'On this gateway')
  assert.equal(formatWord('stuck'), 'Stuck')
  assert.equal(formatWord('pending'), 'Pending')
  assert.equal(formatWord('at_limit'), 'At limit')
  assert.equal(formatWord('macos'), 'macOS')
})

test('names are shortened to initials and joined to lists', () => {
  assert.equal(formatInitials('Marta Lindqvist'), 'ML')
  assert.equal(formatInitials('saga.bergman@kestrel.example'), 'SB')
  assert.equal(formatInitials(''), '')
  assert.equal(formatList([]), '')
  assert.equal(formatList(['a']), 'a')
  assert.equal(formatList(['a', 'b', 'c']), 'a, b and c')
})
