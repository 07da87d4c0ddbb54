import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { contract, type Operation, operations } from '@holdfast/contract'
import { secretTexts, severalLines } from '@holdfast/contract/text-rules'
import { certificateInfo, encodePem } from '@holdfast/crypto'
import { refuseControls } from '../../src/http/body/text-rules.ts'
import { AppError } from '../../src/kernel/app-error.ts'
import { atOnce } from '../../src/kernel/time-slice.ts'
import {
  type Caller,
  call,
  createWorld,
  exampleBody,
  exampleQuery,
  fill,
  operation,
  send,
  speaking,
  type World,
} from '../support/actors/all-callers.ts'
import { newCsr } from '../support/actors/certificate-requests.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { mutantsOfBytes, mutantsOfJson, mutantsOfText } from './mutants.ts'

/** Operations that would break later requests of this file. */
const last: readonly Operation[] = ['updateSecuritySettings', 'changeTenant', 'runPlaybook']
const isLast = (name: Operation) => last.includes(name)

function callerOf(world: World, name: Operation): Caller {
  const { access } = operation(name)
  const [kind] = access.by === 'anyone' ? [] : access.by
  const otherwise = kind === undefined ? () => ({}) : world.callers[kind]
  return speaking(
    contract[name],
    world.own,
    access.by !== 'anyone' && access.by.includes('api_key') ? world.callers.api_key : otherwise,
  )
}

/** Sends hostile input at every place of every request; each place is tried `times` times. */
export async function sendHostileInput(t: TestContext, times: number): Promise<void> {
  const kit = await startKit(t, { config: { trustedProxies: ['127.0.0.0/8'] } })
  const world = await createWorld(kit)
  const broken: string[] = []
  const expect = (what: string, { status, text }: { status: number; text: string }, sent: unknown) => {
    if (status >= 500) broken.push(`${what}: ${status} ${text} for ${JSON.stringify(sent)?.slice(0, 300)}`)
  }

  await t.test('in a certificate: every byte of its dates, names and keys', async () => {
    await inCertificates(kit, world, expect, 20 * times)
    assert.deepEqual(broken.splice(0), [])
  })
  await t.test('in a header', async () => {
    const { authorization = '' } = world.callers.api_key('', '')
    for (const [name, valid] of headers)
      for (const value of mutantsOfText(valid, 6 * times)) {
        if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) continue
        const given = { authorization, [name]: value.trim() }
        const path = name === 'idempotency-key' ? '/v1/admin/api-keys' : '/v1/admin/groups?limit=1'
        const body = name === 'idempotency-key' ? '{}' : undefined
        const type = body === undefined ? {} : { 'content-type': 'application/json' }
        expect(name, await send(kit, body === undefined ? 'GET' : 'POST', path, { ...type, ...given }, body), value)
      }
    assert.deepEqual(broken.splice(0), [])
  })
  await t.test('in a query', async () => {
    const values = [
      '\u0085',
      '9'.repeat(30),
      '%',
      '-0',
      '::ffff:1%.0.2.1',
      '+275760-09-13T00:00:00.001Z',
      'usr_zzz',
      '1e9',
      '"',
      '(',
    ]
    for (const [name, e] of operations.filter(([, { method, stream }]) => method === 'GET' && !stream)) {
      const parameters = Object.keys((e.query as { properties?: object } | undefined)?.properties ?? {})
      for (const [i, parameter] of parameters.entries())
        for (const value of Array.from(
          { length: Math.min(times, values.length) },
          (_, n) => values[(i + n) % values.length]!,
        )) {
          const query = `?${new URLSearchParams({ [parameter]: value })}`
          const at = { method: 'GET', path: fill(e.path, world.own.ids) }
          expect(name, await call(kit, at, callerOf(world, name), undefined, query), query)
        }
    }
    assert.deepEqual(broken.splice(0), [])
  })
  await t.test('in a text that people see: every field of every body, and every attribute of SCIM', async () => {
    const taken: string[] = []
    for (const [name, e] of operations.filter(([, { method, body }]) => method !== 'GET' && body)) {
      if (e.upload || e.judgesTexts || e.protocol === 'scim') continue
      for (const path of fieldsOf(e.body)) {
        const leaf = path.findLast((part) => part !== '0') ?? ''
        if (secretTexts.includes(leaf)) continue
        for (const text of severalLines.includes(leaf) ? hidden : [...hidden, 'a\nb', 'a\tb'])
          if (isTaken(placed(exampleBody(name, world.own.ids), path, text))) taken.push(`${name} ${path.join('.')}`)
      }
    }
    assert.deepEqual(taken, [])
    await inShownTexts(kit, world)
  })
  await t.test('in a body', async () => {
    const writes = operations.filter(([, { method, body }]) => method !== 'GET' && body)
    for (const [name, e] of writes.toSorted(([a], [b]) => Number(isLast(a)) - Number(isLast(b)))) {
      const valid = exampleBody(name, world.own.ids)
      const at = { method: e.method, path: fill(e.path, world.own.ids) }
      for (const body of mutantsOfJson(valid, 2 * times, name.length))
        expect(name, await call(kit, at, callerOf(world, name), body, exampleQuery(name)), body)
    }
    assert.deepEqual(broken.splice(0), [])
  })
}

const headers: readonly (readonly [name: string, valid: string])[] = [
  ['x-forwarded-for', '203.0.113.7, ::ffff:198.51.100.1, [2001:db8::1]:443'],
  ['user-agent', 'Mozilla/5.0 (X11; Linux) é'],
  ['if-none-match', 'W/"abc.def", "ghi"'],
  ['range', 'bytes=0-499'],
  ['prefer', 'wait=0, respond-async'],
  ['accept', 'application/json;q=0.9, */*'],
  ['cookie', 'a=b; __Host-holdfast_session=hfs_x; c="d"'],
  ['dpop', 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln'],
  ['idempotency-key', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['content-type', 'application/json; charset="utf-8"'],
  ['sec-fetch-site', 'same-origin'],
  ['origin', 'http://holdfast.test'],
]

const hidden = ['a\u0007b', 'a\u0085b', 'a\u001bb', 'a\u2028b', 'a\u202eb', 'a\u2066b', '\ud800']
const isTaken = (body: unknown) => {
  try {
    atOnce(refuseControls(body))
    return true
  } catch (e) {
    if (e instanceof AppError && e.code === 'validation_error') return false
    throw e
  }
}

type Schema = {
  type?: string
  enum?: unknown
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  readOnly?: boolean
}
/** The paths to all texts of a schema. */
function* fieldsOf(schema: Schema | undefined, path: readonly string[] = []): Generator<readonly string[]> {
  if (!schema || schema.enum || schema.readOnly) return
  if (schema.type === 'string') yield path
  for (const option of schema.anyOf ?? []) yield* fieldsOf(option, path)
  yield* fieldsOf(schema.items, [...path, '0'])
  for (const [name, its] of Object.entries(schema.properties ?? {})) yield* fieldsOf(its, [...path, name])
  for (const its of Object.values(schema.patternProperties ?? {})) yield* fieldsOf(its, [...path, 'any'])
}
function placed(value: unknown, [name, ...rest]: readonly string[], text: string): unknown {
  if (name === undefined) return text
  if (name === '0') return [placed(Array.isArray(value) ? value[0] : undefined, rest, text)]
  const object = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  return { ...object, [name]: placed(object[name], rest, text) }
}

/** Over HTTP: names, descriptions, notes, reports of devices and gateways, and SCIM. */
async function inShownTexts(kit: Kit, world: World): Promise<void> {
  const { ids } = world.own
  const sent: [Operation, unknown, RegExp][] = hidden.slice(0, 6).flatMap((text): [Operation, unknown, RegExp][] => [
    ['createApiKey', { name: text, role: 'viewer' }, /name/],
    ['changeGroup', { operation: 'update', group_id: ids.group_id, group: { description: text } }, /group.description/],
    ['changeDevice', { operation: 'update', device_id: ids.device_id, device: { name: `${text}\n` } }, /device.name/],
    ['enroll', { device: { name: 'x', platform: 'linux', serial: text } }, /device.serial/],
    ['heartbeat', { version: text, load: {} }, /version|load|required/],
    ['identifyGateway', { version: text }, /version/],
    ['reportPosture', { facts: { os: { version: text } } }, /facts/],
    ['createScimUser', { userName: 'x-y', displayName: text }, /displayName/],
    ['patchScimUser', { Operations: [{ op: 'replace', path: 'name.formatted', value: text }] }, /name.formatted/],
    ['createScimGroup', { displayName: text }, /displayName/],
  ])
  for (const [name, body, names] of sent) {
    const { method, path } = operation(name)
    const answer = await call(kit, { method, path: fill(path, ids) }, callerOf(world, name), body)
    assert.ok([400, 422].includes(answer.status), `${name} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`)
    assert.match(answer.text, names)
  }
  const group = { operation: 'update', group_id: ids.group_id, group: { description: 'two\n\tlines' } }
  assert.equal((await call(kit, contract.changeGroup, world.callers.api_key, group)).status, 200)
  const address = { op: 'add', path: 'addresses', value: [{ formatted: '1 Way\nTown' }] }
  const { method, path } = operation('patchScimUser')
  const past = await call(kit, { method, path: fill(path, ids) }, world.own.provisioner, { Operations: [address] })
  assert.equal(past.status, 200, 'what is read past may have lines')
}

const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39
type Expect = (what: string, answer: { status: number; text: string }, sent: unknown) => void
/** An SPC of the tenant, one of its CAs, and a foreign certificate. */
async function inCertificates(kit: Kit, world: World, expect: Expect, count: number): Promise<void> {
  const { json } = await call(kit, contract.issueSpc, world.own.device.caller, { csr: await newCsr() })
  const anchors = (await kit.admin.trustAnchors()).anchors.map((anchor) => anchor.certificate)
  for (const pem of [String(json.certificate), anchors[0] ?? '']) {
    assert.ok(certificateInfo(pem))
    const der = Buffer.from(pem.split('-----')[2] ?? '', 'base64')
    for (const bytes of mutantsOfBytes(der, count)) {
      const certificate = encodePem('CERTIFICATE', bytes)
      expect('validateSpc', await call(kit, contract.validateSpc, world.callers.api_key, { certificate }), certificate)
    }
    // The 13th month, the 32nd day, the 25th hour.
    for (const [at, byte] of der.entries())
      if (isDigit(byte) && der.subarray(at - 4, at + 4).filter(isDigit).length > 4) {
        const certificate = encodePem('CERTIFICATE', Buffer.from(der).fill(0x39, at, at + 1))
        expect(
          'validateSpc',
          await call(kit, contract.validateSpc, world.callers.api_key, { certificate }),
          certificate,
        )
      }
  }
}
