import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { signIn } from '@holdfast/sdk'
import { connectDatabase } from '../../src/db/database.ts'
import type { TenantId } from '../../src/kernel/actor.ts'
import { decodeId } from '../../src/kernel/ids.ts'
import { dispatcherTo, startKit } from '../support/deployment/deployment.ts'
import { password, startDeployment } from '../support/deployment/server-processes.ts'
import { until } from '../support/deployment/wait-until.ts'
import { arrive, eventIn, numbersIn, oneTo, opened, type Received } from '../support/providers/siem-receivers.ts'
import { receivers, startReceiver } from './syslog-receivers.ts'
import { without } from './tools.ts'

const skip = without('rsyslog') || without('rsyslog-gnutls') || without('syslog-ng')
const events = Number(process.env.HOLDFAST_SIEM_EVENTS ?? 100_000)
const outageSeconds = Number(process.env.HOLDFAST_SIEM_OUTAGE ?? 60)
const ofTenant = events / 2
/** Number of events of each tenant that arrive at once, twice a second. */
const atOnce = 400

/** The events without repetitions, in order of their first arrival. */
const firstOf = (all: readonly Received[]) => {
  const seen = new Set<number>()
  return all.filter(({ seq }) => !seen.has(seq) && seen.add(seq))
}

test(`rsyslog and syslog-ng, over TLS, have every one of ${events} events in order: through their restart, an outage and a killed server`, {
  skip,
  timeout: 900_000,
}, async (t) => {
  const { database, start } = await startDeployment(t)
  const baseUrl = 'http://holdfast.test'
  const environment = { HOLDFAST_ALLOWED_PRIVATE_CIDRS: '127.0.0.0/8', HOLDFAST_PUBLIC_URL: baseUrl }
  const first = await start(database.url, environment)
  const sinks = await Promise.all(receivers.map((name) => startReceiver(t, name)))
  const dispatcher = dispatcherTo(`http://127.0.0.1:${first.port}`)
  const db = connectDatabase(database.url, { max: 4, onError: () => {} })
  t.after(async () => {
    await dispatcher.destroy()
    await db.close()
  })
  const { client } = await signIn({
    baseUrl,
    username: 'admin',
    password,
    dispatcher,
  })
  const { tenant } = await client.changeTenant({ body: { operation: 'create', tenant: { name: 'second' } } })
  const own = (await client.me()).tenant_id
  for (const tenant_id of [own, tenant.tenant_id])
    for (const { name, port, ca } of sinks) {
      const tls = { ca_pem: ca, server_name: null }
      const body = { kind: 'syslog_tls', name, format: 'json', host: 'localhost', port, tls } as const
      await client.createSiemConnector({ body, query: { tenant_id } })
    }

  const tenants = [own, tenant.tenant_id].map((id) => decodeId('tenant', id) as TenantId)
  let arrived = 0
  const producing = (async () => {
    for (; arrived < ofTenant; arrived += atOnce) {
      for (const one of tenants) await arrive({ db, tenant: one }, Math.min(atOnce, ofTenant - arrived), arrived + 1)
      await delay(500)
    }
  })()
  const reached = async (part: number) => {
    while (arrived < ofTenant * part) await delay(100)
  }
  await reached(0.15)
  for (const sink of sinks) {
    await sink.stop()
    await sink.start()
  }
  await reached(0.4)
  first.kill()
  assert.equal((await first.end()).how, 'SIGKILL')
  const second = await start(database.url, environment)
  await reached(0.6)
  await Promise.all(sinks.map((sink) => sink.stop()))
  const outage = delay(outageSeconds * 1000)
  await producing
  await outage
  const back = performance.now()
  await Promise.all(sinks.map((sink) => sink.start()))

  for (const sink of sinks) {
    for (const until = performance.now() + 300_000; performance.now() < until; await delay(2000))
      if (sink.messages().length >= events) break
    const read = () => sink.messages().map(eventIn)
    // Some events may have arrived twice.
    for (const until = performance.now() + 120_000; performance.now() < until; await delay(5000)) {
      const numbers = read()
      if (tenants.every((_, i) => numbersIn(numbers.filter(ofNth(i))).length >= ofTenant)) break
    }
    const all = read()
    for (const i of tenants.keys()) {
      const mine = all.filter(ofNth(i))
      const once = firstOf(mine)
      assert.deepEqual(numbersIn(once), oneTo(ofTenant), `${sink.name}: every event, in order`)
      const places = once.map(({ seq }) => seq)
      assert.deepEqual(
        places,
        oneTo(places.length).map((n) => n + places[0]! - 1),
        `${sink.name}: no place left out`,
      )
      t.diagnostic(`${sink.name}, tenant ${i + 1}: ${once.length} events, ${mine.length - once.length} came again`)
    }
  }
  t.diagnostic(`drained ${Math.round((performance.now() - back) / 1000)} s after the outage`)
  second.signal()
  assert.equal((await second.end()).how, '0', second.output())

  function ofNth(i: number) {
    const id = [own, tenant.tenant_id][i]
    return ({ tenant_id }: Received) => tenant_id === id
  }
})

/** Texts that a parser might take for the end of a record, or for another record. */
const hostile = [
  ...['\n', '\r\n', '\r', '\0', '\u2028', '\u0085', '\u001b[2J\u001b[31m', '\b\b\b', '\u202e'],
  ...['<13>1 2026-01-01T00:00:00Z forged evil - - - forged', '\n<13>Jan  1 00:00:00 forged evil: forged'],
  ...[
    '|',
    '=',
    ']',
    '"',
    '\\',
    '\\"]',
    'a=b|c=d',
    '"] [x@1 y="z',
    '\n12 <13>1 forged',
    '%rawmsg%',
    '$RAWMSG',
    '\ufeff',
  ],
]

/** Makes a message almost as long as the receivers accept. */
const large = 'x'.repeat(500_000)
const texts = [...hostile, large]
/** The event numbers in these lines, in any format; one per event. */
const numbersOf = (lines: readonly string[]) =>
  lines.flatMap((line) => Array.from(line.matchAll(/"operation":"n(\d+) /g), (found) => Number(found[1])))

test('one event stays one record of rsyslog and of syslog-ng, in every format, whatever its texts hold', {
  skip,
}, async (t) => {
  const kit = await startKit(t, { config: opened })
  for (const name of receivers) {
    const sink = await startReceiver(kit, name)
    const formats = ['json', 'ocsf', 'cef'] as const
    for (const format of formats) {
      const body = {
        kind: 'syslog_tls',
        name: `${name} ${format}`,
        format,
        host: 'localhost',
        port: sink.port,
        tls: { ca_pem: sink.ca, server_name: null },
      } as const
      const { connector } = await kit.admin.createSiemConnector({ body })
      const before = sink.messages().length
      await arrive(kit, texts.length, 1, (n) => ` ${texts[n - 1]}`)
      const messages = () => sink.messages().slice(before)
      // The receiver writes an event shortly after it has read it.
      await until(() => numbersOf(messages()).length >= texts.length, `${name} ${format}`)
      await kit.admin.deleteSiemConnector({ params: { connector_id: connector.connector_id } })
      const lines = messages()
      assert.deepEqual(numbersOf(lines), oneTo(texts.length), `${name} ${format}: each is one line`)
      assert.ok(
        lines.some((line) => line.includes(large)),
        `${name} ${format}: whole`,
      )
      for (const line of lines)
        assert.match(line, /^<\d{2,3}>1 \S+Z holdfast\.test holdfast - [a-z_.]+ \[audit@32473 seq="\d+" /)
      const places = lines.map((line) => Number(/ seq="(\d+)"/.exec(line)?.[1]))
      assert.deepEqual(
        places,
        oneTo(places.length).map((n) => n + places[0]! - 1),
        `${name} ${format}`,
      )
      if (format !== 'json') continue
      const events = lines.map(eventIn).filter((e) => /^n\d/.test(String(e.operation)))
      assert.deepEqual(
        events.map((e) => e.operation),
        texts.map((text, i) => `n${i + 1} ${text}`),
        'what was written is what is read',
      )
    }
  }
})
