import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { contract, type Endpoint, type Operation, operations } from '@holdfast/contract'
import { statusesOf } from '@holdfast/contract/openapi-operation'
import { type ChangedKind, changedKinds } from '@holdfast/contract/stream'
import { idPrefixes, type Noun } from '@holdfast/contract/vocabulary'
import { listsOfAudit, onlyNamed } from '../../src/modules/stream/kinds.ts'
import { objectKinds } from '../support/actors/sample-objects.ts'
import type { ApiAnswer } from '../support/clients/api-calls.ts'
import { type OpenStream, openStream } from '../support/clients/change-streams.ts'
import { type Kit, loopbackAllowed, startKit } from '../support/deployment/deployment.ts'
import { type AuditEvent, faultsInChanges } from '../support/domain/audit-changes.ts'
import { createExampleCheck } from '../support/domain/recorded-examples.ts'
import { createHere } from './here.ts'
import { createWrite } from './writes.ts'

const writes = operations.filter(([, e]) => e.method !== 'GET')
/** The field names of an answer; two routes to the same effect share them. */
const shapeOf = ({ json }: ApiAnswer) => Object.keys(json).sort().join()

/** The fields that an `update` sets, and the further fields that a lifecycle operation needs besides the id. */
const patches: Readonly<Record<string, (ids: Record<string, string>) => object>> = {
  user: ({ group_id }) => ({
    display_name: 'Jane Doe',
    email: 'jane.doe@example.test',
    username: 'jane.doe',
    group_ids: [group_id],
  }),
  group: () => ({ name: 'sales', description: 'Field and inside sales' }),
  tenant: ({ tenant_id = '' }) => ({ name: `renamed-${tenant_id.slice(-9)}`, limits: { users: 7 } }),
  device: () => ({ name: 'reception', tags: ['kiosk'], channel: 'canary', user_id: null }),
}
/** Writes that need new input each time: another password, another session, another one-time code. */
type Write = { ids: Record<string, string>; send: (body?: unknown) => Promise<ApiAnswer> }
const newEachTime: readonly Operation[] = ['changePassword', 'logout']

type Said = { changes: { kind: ChangedKind; ids: string[]; many: boolean }[] }
/** Returns the audit events for which the stream did not announce the changed list, or the changed object in it. */
async function missingAnnouncements(stream: OpenStream, events: readonly AuditEvent[]): Promise<string[]> {
  const last = Math.max(...events.map((event) => event.seq))
  const first = Number((await stream.event('ready')).id.split('-')[1])
  await stream.event('audit', ({ seq }) => seq >= last)
  const said = stream.received.flatMap((e) => (e.event === 'changed' ? (e.data as Said).changes : []))
  const byKind = Map.groupBy(said, ({ kind }) => kind)
  // Events from before the stream are not announced.
  const later = events.filter((event) => event.seq > first)
  return later.flatMap(({ kind, target }) =>
    listsOfAudit[kind].flatMap((list) => {
      const told = byKind.get(list) ?? []
      const id = target?.id ?? ''
      const { noun } = changedKinds[list] as { noun?: Noun }
      const names = noun !== undefined && id.startsWith(`${idPrefixes[noun]}_`)
      const isTold = told.some(({ ids, many }) => many || !names || ids.includes(id))
      return isTold || onlyNamed.has(list) ? [] : [`${kind}: ${list} ${id}`]
    }),
  )
}

/** Reads all audit events, page by page. */
async function allEvents(kit: Kit): Promise<AuditEvent[]> {
  const found: AuditEvent[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = { limit: 200, ...(cursor && { cursor }) }
    const page: Awaited<ReturnType<typeof kit.admin.listAuditEvents>> = await kit.admin.listAuditEvents({ query })
    found.push(...page.items)
    cursor = page.next_cursor
  }
  return found
}

test('every write answers a described status: 201 if it creates, changed: false if nothing changes, in the shape of its example; its event has no secret', async (t: TestContext) => {
  const kit = await startKit(t, { config: loopbackAllowed })
  const watching = await openStream(kit.url, { authorization: `Bearer ${kit.adminKey}` })
  kit.after(watching.close)
  await watching.event('ready')
  const world = await createHere(kit)
  const wrong: string[] = []
  const examples = createExampleCheck('writes')
  /** A write that records every status that its description lacks. */
  const described = async (name: Operation, more: Parameters<typeof createWrite>[3] = []): Promise<Write> => {
    const e: Endpoint = contract[name]
    const { ids, send } = await createWrite(kit, world, name, more)
    return {
      ids,
      send: async (body) => {
        const answer = await send(body)
        examples.note(name, answer)
        if (!statusesOf(e).includes(answer.status)) wrong.push(`${name}: ${answer.status} is not described`)
        return answer
      },
    }
  }
  const shapes = new Map<string, string>()
  const secrets = new Set<string>([world.own.token, world.own.secret])
  const succeeded: { name: Operation; part: string; kind: string; requestId: unknown }[] = []
  const expect = (what: string, { status, json, text }: ApiAnswer, wanted: number, changed?: false) => {
    for (const name of ['secret', 'credential', 'provisioning_uri'])
      if (typeof json[name] === 'string') secrets.add(json[name])
    for (const code of (json.recovery_codes as string[] | undefined) ?? []) secrets.add(code)
    const again = json.changed ?? (json.terminated === undefined ? undefined : json.terminated !== 0)
    if (status !== wanted || (changed === false && again !== false))
      wrong.push(`${what}: ${status} ${text.slice(0, 200)}`)
  }
  const expectOnRecord = ([name, e]: (typeof writes)[number], part: string, { headers }: ApiAnswer) =>
    void succeeded.push({ name, part, kind: `${e.audit} success`, requestId: headers['x-request-id'] })
  let repeated = 0
  let twins = 0
  for (const [name, e] of writes) {
    if (e.operations) continue
    const write = await described(name)
    const first = await write.send()
    const again = await write.send()
    expect(name, first, e.status ?? 200)
    if (e.records) continue
    expectOnRecord([name, e], '', first)
    shapes.set(e.path, shapeOf(first))
    const holds = 'changed' in first.json || 'terminated' in first.json
    if (!holds || newEachTime.includes(name)) continue
    repeated++
    expect(`${name} again`, again, 200, false)
  }
  // One object of each kind goes through its whole lifecycle.
  for (const [name, e] of writes.filter(([, { operations }]) => operations)) {
    const isBatch = name === 'changeDevices'
    const noun = isBatch ? 'device' : name.slice('change'.length).toLowerCase()
    const named = objectKinds.filter((thing) => thing === 'group_id' || thing === `${noun}_id`)
    const { ids, send }: Write = await described(name, named)
    for (const operation of Object.keys(e.operations ?? {})) {
      if (operation === 'create') {
        const made = await send()
        expect(`${name} create`, made, 201)
        expectOnRecord([name, e], ' create', made)
        expect(`${name} create again`, await send(), 422)
        continue
      }
      const id = ids[`${noun}_id`]
      const which = isBatch ? { device_ids: [id] } : { [`${noun}_id`]: id }
      const patch = operation === 'update' && patches[noun] ? { [noun]: patches[noun](ids) } : {}
      const body = { operation, ...which, ...patch }
      const once = await send(body)
      expect(`${name} ${operation}`, once, 200)
      const twin = shapes.get(e.path.replace(/lifecycle$/, operation))
      if (twin !== undefined) twins++
      if (twin !== undefined && twin !== shapeOf(once))
        wrong.push(`${name} ${operation}: ${shapeOf(once)}; its own route: ${twin}`)
      const { changed, summary } = once.json as { changed?: boolean; summary?: { changed: number } }
      if (changed || summary?.changed) expectOnRecord([name, e], ` ${operation}`, once)
      const again = await send(body)
      repeated++
      if (isBatch) assert.deepEqual(again.json.summary, { changed: 0, unchanged: 1, failed: 0 }, `${operation} again`)
      else expect(`${name} ${operation} again`, again, 200, false)
    }
  }
  assert.ok(repeated > 25, `${repeated} are repeated`)
  assert.ok(twins >= 3, `${twins} operations have a route of their own`)

  examples.assertExamples()
  const events = await allEvents(kit)
  const sent = new Set(succeeded.map(({ name }) => name))
  for (const [name, e] of writes) assert.ok(e.records || sent.has(name), `${name} changed something`)
  const left = Map.groupBy(events, (event) => event.request_id)
  for (const { name, part, kind, requestId } of succeeded) {
    const kinds = (left.get(String(requestId)) ?? []).map((event) => `${event.kind} ${event.outcome}`)
    if (!kinds.includes(kind)) wrong.push(`${name}${part}: left ${kinds.join(', ')}, not ${kind}`)
  }
  wrong.push(...new Set(events.flatMap(faultsInChanges)))
  assert.deepEqual(wrong, [])
  assert.deepEqual(
    [...new Set(events.flatMap((event) => (event.changes ? [event.kind] : [])))].sort(),
    [
      'device.changed',
      'directory_source.updated',
      'enrollment_settings.updated',
      'gateway.approved',
      'gateway.identified',
      'gateway.updated',
      'gateway_pool.updated',
      'group.changed',
      'identity_provider.updated',
      'notification_settings.updated',
      'plan.updated',
      'policy.draft_updated',
      'policy.published',
      'posture.reported',
      'release.changed',
      'release.updated',
      'retention.updated',
      'security_settings.updated',
      'siem_connector.updated',
      'tenant.changed',
      'user.changed',
      'view.updated',
    ],
    'kinds that say what was changed',
  )
  assert.deepEqual(
    await missingAnnouncements(watching, events),
    [],
    'a stream announces every write, for each list that it concerns',
  )
  const onRecord = JSON.stringify(events)
  assert.ok(secrets.size > 10)
  assert.deepEqual(
    [...secrets].filter((secret) => onRecord.includes(secret)),
    [],
  )
})
