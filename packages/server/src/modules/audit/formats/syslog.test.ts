import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditKinds } from '@holdfast/contract/audit-fields'
import type { AuditFields } from '@holdfast/contract/vocabulary'
import { canonicalJson } from '@holdfast/crypto'
import fc from 'fast-check'
import { anyLines, eventOf, hostileEvent, texts } from '../../../../test/support/domain/hostile-events.ts'
import { cef } from './cef.ts'
import { readEvent } from './event.ts'
import { octetCounted, syslog } from './syslog.ts'

const origin = { hostname: 'vpn.example.com', enterprise: 32473 }

/** Parses by the grammar of RFC 5424 §6 alone. */
function parseSyslog(message: string) {
  const head =
    /^<(\d{1,3})>1 (\S+) ([!-~]{1,255}) ([!-~]{1,48}) ([!-~]{1,128}) ([!-~]{1,32}) \[([!-<>-\\^-~]{1,32})(?= )/.exec(
      message,
    )
  assert.ok(head, message)
  const [all, priority, time, host, app, process, id, sdId] = head
  const parameters = new Map<string, string>()
  let rest = message.slice(all.length)
  for (let m = next(rest); m; m = next(rest)) {
    assert.ok(!parameters.has(m[1]!), m[1])
    parameters.set(m[1]!, m[2]!.replaceAll(/\\(["\\\]])/g, '$1'))
    rest = rest.slice(m[0].length)
  }
  assert.ok(rest.startsWith('] \ufeff'), rest)
  return { priority: Number(priority), time, host, app, process, id, sdId, parameters, text: rest.slice(3) }
}
const next = (rest: string) => /^ ([!-<>-\\^-~]{1,32})="((?:[^"\\\]]|\\["\\\]])*)"/.exec(rest)

test('one event is one message of RFC 5424, whose text is the event', () => {
  fc.assert(
    fc.property(texts, (given) => {
      const stored = hostileEvent(given)
      const message = syslog(stored, origin)
      assert.equal(anyLines(message).length, 1)
      const { text, parameters, ...head } = parseSyslog(message)
      assert.deepEqual(head, {
        priority: 83,
        time: '2026-01-31T09:30:00.250Z',
        host: 'vpn.example.com',
        app: 'holdfast',
        process: '-',
        id: 'login.failed',
        sdId: 'audit@32473',
      })
      const { seq, hash, ...record } = JSON.parse(text) as Record<string, unknown>
      assert.equal(canonicalJson(record), stored.record)
      assert.deepEqual([parameters.get('seq'), parameters.get('hash')], [String(seq), hash])
      const event = readEvent(stored)
      const plain = (s: string) => /^[ -~]*$/.test(s)
      const name = event.actor.name ?? ''
      if (plain(name)) assert.equal(parameters.get('actor'), name)
      assert.equal(parameters.get('source_ip'), '192.0.2.7')
    }),
    { numRuns: 200 },
  )
})

test('a frame counts bytes, not characters', () => {
  const framed = octetCounted('<86>1 é\ufeff')
  assert.equal(framed, '11 <86>1 é\ufeff')
  assert.equal(Buffer.from(framed).length, 14)
})

test('the kind is whole in each message, also where MSGID has no room for it', () => {
  for (const kind of auditKinds) {
    const { id, parameters } = parseSyslog(syslog(eventOf(kind, {} as AuditFields[typeof kind]), origin))
    assert.equal(parameters.get('kind'), kind)
    assert.equal(id, kind.slice(0, 32))
  }
})

test('a host that is no host name is the nil value', () => {
  const message = syslog(eventOf('login.challenged', { user_id: 'u' }), { ...origin, hostname: ' \n' })
  assert.equal(parseSyslog(message).host, '-')
})

/**
 * Parses by the text of the format's guide: seven fields separated by pipes, then keys and values; `\` escapes `\`,
 * `|`, `=`.
 */
function parseCef(line: string) {
  const fields: string[] = []
  let at = 0
  for (let field = ''; fields.length < 7; at++) {
    const c = line[at] ?? assert.fail(line)
    if (c === '|') {
      fields.push(field)
      field = ''
    } else field += c === '\\' ? line[++at] : c
  }
  const pairs = new Map<string, string>()
  let rest = line.slice(at)
  while (rest !== '') {
    const m = /^(\w+)=((?:[^\\=]|\\[\\=nr])*?)(?= \w+=|$)(?: |$)/.exec(rest) ?? assert.fail(rest)
    assert.ok(!pairs.has(m[1]!), m[1])
    pairs.set(m[1]!, m[2]!.replaceAll(/\\([\\=])/g, '$1'))
    rest = rest.slice(m[0].length)
  }
  return { header: fields, pairs }
}

test('CEF: one event is one line, and each value stays under its own key', () => {
  fc.assert(
    fc.property(texts, (given) => {
      const stored = hostileEvent(given)
      const line = cef(stored)
      assert.equal(anyLines(line).length, 1)
      const { header, pairs } = parseCef(line)
      assert.deepEqual(header, ['CEF:0', 'Holdfast', 'Holdfast', '1', 'login.failed', 'login failed', '8'])
      const event = readEvent(stored)
      assert.deepEqual(
        [pairs.get('externalId'), pairs.get('src'), pairs.get('outcome'), pairs.get('cn1'), pairs.get('cs1')],
        [event.event_id, '192.0.2.7', 'failed', String(stored.seq), stored.hash],
      )
      const agent = event.user_agent ?? ''
      if (/^[ -~]*$/.test(agent)) assert.equal(pairs.get('requestClientApplication'), agent)
      assert.doesNotThrow(() => JSON.parse(pairs.get('cs6')!))
    }),
    { numRuns: 200 },
  )
})

test('CEF: an IPv6 address has its own key', () => {
  const { pairs } = parseCef(cef(eventOf('login.challenged', { user_id: 'u' }, { sourceIp: '2001:db8::1' })))
  assert.deepEqual([pairs.get('src'), pairs.get('c6a2')], [undefined, '2001:db8::1'])
})
