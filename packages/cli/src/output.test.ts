import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '@holdfast/contract'
import { anyText } from '@holdfast/crypto/test/any-text'
import fc from 'fast-check'
import { describeFields, parseAssignments } from './assignments.ts'
import { parseEndpoint } from './commands/gateway.ts'
import { parseMoment } from './options.ts'
import { cellText, printItem, tableLines } from './output.ts'
import { bytesText, parseDuration, plain } from './text.ts'

test('columns are aligned in every row, and no line ends in blanks', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'B', '1', 'é'), minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(fc.array(fc.tuple(cell, cell, cell), { minLength: 1 }), (rows) => {
      const widths = [0, 1, 2].map((n) => Math.max(...rows.map((row) => row[n]!.length)))
      for (const [n, line] of tableLines(rows).entries()) {
        const [first, second, third] = rows[n]!
        const at = widths[0]! + 2
        assert.ok(line.startsWith(first))
        assert.ok(line.startsWith(second, at))
        assert.equal(line.slice(at + widths[1]! + 2), third)
      }
    }),
  )
})

test('bold headings do not move the columns', () => {
  const bold = '\u001b[1mNAME\u001b[22m'
  assert.deepEqual(
    tableLines([
      [bold, 'X'],
      ['longer', 'Y'],
    ]),
    [`${bold}    X`, 'longer  Y'],
  )
})

test('cells show null as a dash, lists by commas and objects as JSON', () => {
  assert.equal(cellText(null), '-')
  assert.equal(cellText([]), '-')
  assert.equal(cellText(['a', 'b']), 'a, b')
  assert.equal(cellText(false), 'false')
  assert.equal(cellText([{ host: 'x' }]), '[{"host":"x"}]')
})

test('certificates are printed as PEM lines; other line breaks are removed', () => {
  const certificate = '-----BEGIN CERTIFICATE-----\nMIIB\nAA==\n-----END CERTIFICATE-----\n'
  const shown: string[] = []
  const item = { name: 'x', idp: { certificates: [certificate, certificate] }, note: `${certificate}\u001b[2J` }
  printItem({ json: false, strong: (text) => text, say: (line) => shown.push(line) }, item)
  const lines = certificate.trim().split('\n')
  assert.deepEqual(
    shown.slice(1, -1),
    [...lines, ...lines].map((line, i) => `${(i === 0 ? 'idp.certificates' : '').padEnd(18)}${line}`),
  )
  assert.equal(shown.at(-1), `note              ${plain(item.note)}`)
})

test('bytes are printed with decimal units', () => {
  for (const [bytes, text] of [
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [999_949, '999.9 kB'],
    [999_950, '1.0 MB'],
    [1_500_000_000, '1.5 GB'],
    [Number.MAX_SAFE_INTEGER, '9.0 PB'],
  ] as const)
    assert.equal(bytesText(bytes), text)
})

test('no printed text has a control character', () => {
  fc.assert(fc.property(anyText(), (text) => !/[\x00-\x1f\x7f-\x9f]/.test(plain(text))))
})

test('durations have one number and one unit', () => {
  const all = { '90s': 90, '30m': 1800, '24h': 86_400, '7d': 604_800, '5': 5 }
  for (const [text, seconds] of Object.entries(all)) assert.equal(parseDuration(text), seconds)
  for (const text of ['', 'h', '-1h', '1.5h', '1w', '1h30m', ' 1h']) assert.equal(parseDuration(text), undefined, text)
})

test('a time is a timestamp, or a duration before now', () => {
  assert.equal(parseMoment('2030-01-31T08:00:00Z'), '2030-01-31T08:00:00.000Z')
  const ago = Date.now() - new Date(parseMoment('2h')).getTime()
  assert.ok(Math.abs(ago - 7_200_000) < 5000)
  assert.throws(() => parseMoment('yesterday'))
})

test('endpoints are read from host:port/proto', () => {
  assert.deepEqual(parseEndpoint('gw1.example:51820/udp'), [{ host: 'gw1.example', port: 51_820, proto: 'udp' }])
  const two = parseEndpoint('[fd00::1]:443/tcp', parseEndpoint('10.0.0.1:1/udp'))
  assert.deepEqual(two[1], { host: 'fd00::1', port: 443, proto: 'tcp' })
  for (const text of ['gw1', 'gw1:51820', 'gw1:0/udp', 'gw1:65536/udp', 'gw1:1/sctp', 'fd00::1:443/tcp'])
    assert.throws(() => parseEndpoint(text), text)
})

const security = contract.updateSecuritySettings.body
const notifications = contract.updateNotificationSettings.body

test('assignments get the types of the schema', () => {
  const all = ['sessions.idle_seconds=60', 'sessions.absolute_seconds=600', 'mfa.step_up=true']
  assert.deepEqual(parseAssignments(security, [...all, 'mfa.required_roles=operator, auditor']), {
    sessions: { idle_seconds: 60, absolute_seconds: 600 },
    mfa: { step_up: true, required_roles: ['operator', 'auditor'] },
  })
  assert.deepEqual(parseAssignments(security, ['mfa.required_roles=']), { mfa: { required_roles: [] } })
  const url = 'https://hooks.example.com/?a=b,c'
  assert.deepEqual(parseAssignments(notifications, [`webhook.url=${url}`]), { webhook: { url } })
  for (const none of ['', 'null'])
    assert.deepEqual(parseAssignments(notifications, [`webhook.url=${none}`]), { webhook: { url: null } })
})

test('malformed and unknown assignments are refused', () => {
  const wrong = ['', 'mfa', 'mfa.step_up', 'step_up=true', 'mfa.step_up=yes', 'sessions.idle_seconds=1.5']
  const unknown = ['mfa.other=1', 'other.step_up=true', 'constructor.name=x', 'mfa.constructor=x', '__proto__.x=1']
  for (const text of [...wrong, ...unknown]) assert.throws(() => parseAssignments(security, [text]), text)
  assert.throws(() => parseAssignments(security, ['mfa.step_up=true', 'mfa.step_up=false']), /twice/)
})

test('help names each field with its values', () => {
  const takes = Object.fromEntries(describeFields(security))
  assert.equal(takes['passwords.min_length'], '8 to 64')
  assert.equal(takes['mfa.step_up'], 'true | false')
  assert.match(takes['mfa.required_roles'] ?? '', /^list of platform_admin \|/)
  assert.equal(Object.fromEntries(describeFields(notifications))['webhook.url'], 'text, or nothing')
})
