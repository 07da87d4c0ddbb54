import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { contract } from '@holdfast/contract'
import { generateKey, sealedKid } from '@holdfast/crypto'
import { changeSiemConnector } from '@holdfast/sdk'
import pg from 'pg'
import { withGateway } from '../actors/gateways.ts'
import { enrollFactor, makeUser, untilNextStep } from '../actors/people.ts'
import { call, deviceCaller } from '../clients/api-calls.ts'
import { send } from '../clients/raw-http.ts'
import { type Cell, readEverything } from '../database/all-values.ts'
import { enableWebhook } from '../domain/notifications.ts'
import { createClock, type Kit, type Replica, secretsOf, startKit, usualMasterKey } from './deployment.ts'

const [a, b] = [usualMasterKey, 'the next master key']
/** Master key files of replicas, by their lines: key `a`, which sealed everything, and key `b`, the next one. */
export const onlyA = secretsOf(a)
export const readsB = secretsOf(a, b)
export const writesB = secretsOf(b, a)
export const onlyB = secretsOf(b)
export const idOf = { a: onlyA.kek.kid, b: onlyB.kek.kid }

export type File = ReturnType<typeof secretsOf>
/** Replaces the running replicas one by one by replicas with this file. */
export async function roll(kit: Kit, running: readonly Replica[], file: File): Promise<Replica[]> {
  const started: Replica[] = []
  for (const { stop } of running) {
    await stop()
    started.push(await kit.startReplica(file))
  }
  return started
}

/** Two replicas whose file has only the first key, with one of everything that a master key protects. */
export async function startRotation(t: TestContext) {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { now: clock.now, replicas: 2 })
  const { admin } = kit
  await makeUser(kit, 'ana', ['viewer'])
  const factor = await enrollFactor(kit, 'ana', clock.now)
  clock.advance(60)
  const { gateway, secret } = await withGateway(kit)
  const { secret: token } = await admin.generateToken({ body: { max_uses: 0 } })
  const webhook = await enableWebhook(kit, 'https://hooks.example.com/holdfast')
  const oidc = { issuer: 'https://192.0.2.1', client_id: 'holdfast', client_secret: 'a secret of the provider' }
  await admin.createIdentityProvider({ body: { name: 'p', kind: 'oidc', enabled: false, oidc } })
  const credential = JSON.stringify(generateKey('ES256').privateJwk)
  const source = { kind: 'okta', issuer: 'https://localhost', client_id: 'c', provider: 'd', credential } as const
  await admin.createDirectorySource({ body: source })
  const siem = {
    kind: 'webhook',
    name: 'siem',
    format: 'json',
    enabled: false,
    url: 'https://hooks.example.com',
  } as const
  const { connector } = await admin.createSiemConnector({ body: siem })
  const of = { params: { connector_id: connector.connector_id } }
  // The previous secret is kept for a day.
  await changeSiemConnector(admin, of, { credential: `whsec_${randomBytes(32).toString('base64')}` })
  const kept = () => ({ authorization: `Bearer ${kit.adminKey}`, 'idempotency-key': 'kept' })
  const repeat = (replica: Replica) =>
    call({ ...kit, ...replica }, contract.generateToken, kept, { name: 'kept' }).then(({ json }) => json.secret)
  const answer = await repeat(kit.replicas[0]!)
  const page = await admin.listAuditEvents({ query: { limit: 1 } })
  const cookie = factor.person.cookie()
  let machines = 0

  /** Uses everything that was made before the rotation. */
  async function useAll(replica: Replica): Promise<void> {
    const at = { ...kit, ...replica }
    const api = kit.clientFor(kit.adminKey, replica)
    await api.me()
    await api.listAuditEvents({ query: { limit: 1, cursor: page.next_cursor! } }).catch((e: unknown) => {
      if (replica.peppers.all[0]?.isRetired !== true) throw e
    })
    const me = await send(replica.url, { path: '/v1/admin/me', headers: { cookie } })
    assert.equal(me.status, 200, me.text)
    await kit.clientFor(secret, replica).unifiedPolicy()
    const { privateJwk } = generateKey('ES256')
    const body = { device: { name: `machine-${machines++}`, platform: 'linux' } }
    const enrolled = await call(at, contract.enroll, deviceCaller(token, privateJwk, clock.now), body)
    assert.equal(enrolled.status, 201, enrolled.text)
    const device = deviceCaller(String(enrolled.json.credential), privateJwk, clock.now)
    const digest = await call(at, contract.policyDigest, device)
    assert.ok(digest.status === 200 || digest.status === 404, digest.text)
    assert.equal(await repeat(replica), answer)
  }
  /** Signs in with an unused recovery code. */
  const signInWithCode = (replica: Replica) =>
    send(replica.url, {
      method: 'POST',
      path: '/admin/login',
      json: { username: 'ana', password: 'password of ana', recovery_code: factor.codes.pop() },
    })
  /** Signs in with a one-time code. */
  const signInWithTotp = (replica: Replica) => {
    clock.advance(30)
    const json = { username: 'ana', password: 'password of ana', totp: factor.app.code() }
    return send(replica.url, { method: 'POST', path: '/admin/login', json })
  }
  return { kit, clock, webhook, gateway, secret, token, cookie, useAll, signInWithCode, signInWithTotp }
}

export type Rotation = Awaited<ReturnType<typeof startRotation>>

export async function cellsOf(kit: Kit): Promise<Cell[]> {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  try {
    return await readEverything(client)
  } finally {
    await client.end()
  }
}

/** The sealed texts in a value, also within a longer text. A compact JWE has five parts (RFC 7516 §7.1). */
export const sealedTexts = ({ bytes }: Cell): string[] =>
  bytes.toString('latin1').match(/eyJ[\w-]+\.[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+/g) ?? []
export const placeOf = ({ relation, column }: Cell) => `${relation}.${column}`
/** The columns with sealed texts, each with the ids of the keys that sealed them. */
export async function sealedIn(kit: Kit): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>()
  for (const cell of await cellsOf(kit))
    for (const text of sealedTexts(cell))
      found.set(placeOf(cell), (found.get(placeOf(cell)) ?? new Set()).add(sealedKid(text)))
  return found
}
export const keysIn = async (kit: Kit) =>
  [...new Set([...(await sealedIn(kit)).values()].flatMap((kids) => [...kids]))].sort()
export const statusOf = async (kit: Kit, replica: Replica) => {
  const { items, replicas } = await kit.clientFor(kit.adminKey, replica).listMasterKeys()
  return { replicas, a: items.find((k) => k.key_id === idOf.a)!, b: items.find((k) => k.key_id === idOf.b) }
}
