import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { contract, type Operation, operations } from '@holdfast/contract'
import { certificateInfo, encodePem } from '@holdfast/crypto'
import { newCsr } from '../certificates.ts'
import { type Kit, startKit } from '../kit.ts'
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
} from '../world.ts'
import { mutantsOfBytes, mutantsOfJson, mutantsOfText } from './mutants.ts'

/** Operations that end what the others of this file are sent with. */
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

/** Sends hostile input wherever a request has a place for it; `times` is how often each place is tried. */
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

const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39
type Expect = (what: string, answer: { status: number; text: string }, sent: unknown) => void
/** An SPC of the tenant, one of its authorities, and one of nobody's. */
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
