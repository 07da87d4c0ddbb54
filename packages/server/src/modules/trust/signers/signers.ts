import { X509Certificate } from 'node:crypto'
import type { SignerProvider, SignerState } from '@holdfast/contract/vocabulary'
import type { Purpose } from '@holdfast/crypto'
import type { Tx } from '../../../db/database.ts'
import type { PageQuery } from '../../../db/page.ts'
import type { Actor, Source, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { encodeId, missing } from '../../../kernel/ids.ts'
import { everything } from '../../../replication/changes.ts'
import type { Coverage, TrustDeps } from '../deps.ts'
import { makeIssuing } from '../keys/hierarchy.ts'
import { insertKeys, type NewSigningKey, type SigningKeyRow } from '../keys/keys.queries.ts'
import { makeKey, makes } from '../keys/make.ts'
import { overlapOf } from '../lifetimes.ts'
import { firstListing } from '../sets/sets.queries.ts'
import type { Trusted } from '../trust.ts'
import * as queries from './signers.queries.ts'

type End = { compromised: boolean; force: boolean; reason: string | undefined }
const ofAuthorities = new Set(['ca-root', 'ca-issuing'])
const named = ({ signer_id, purpose }: SigningKeyRow) => ({ signer_id: encodeId('signer', signer_id), purpose })
const about = ({ signer_id, purpose }: SigningKeyRow, reason: string | undefined) => ({
  target: { type: 'signer', id: encodeId('signer', signer_id), name: purpose },
  ...(reason !== undefined && { details: { reason } }),
})

/** States of signing keys: pending → active → retiring → retired, and compromised at any time. */
export function createSigners({
  trusted,
  ...deps
}: Pick<
  TrustDeps,
  'db' | 'audit' | 'changes' | 'pager' | 'providers' | 'now' | 'coverageOf' | 'certificatesOf' | 'revokeIssuedBy'
> & { trusted: Trusted }) {
  const { db, audit, changes, pager, providers, now } = deps
  const needed = createNeeded(deps)
  const record = (tx: Tx, tenant: TenantId) => changes.record(tx, tenant, [{ kind: 'trust', subject: everything }])

  /** Makes the successor of an active key that is compromised, before the transaction. */
  async function heirOf(tenant: TenantId, purpose: string): Promise<NewSigningKey | undefined> {
    if (purpose === 'ca-root') return undefined
    const [provider] = providers
    if (purpose !== 'ca-issuing') return makeKey(providers, purpose as Purpose)
    const [root] = (await trusted.keyring(tenant)).roots
    return root && makeIssuing(provider, tenant, root, now())
  }

  /** A compromised root also ends the issuing CAs under it. */
  async function endUnder(tx: Tx, tenant: TenantId, root: SigningKeyRow, at: Date): Promise<string[]> {
    const x509 = new X509Certificate(root.certificate ?? '')
    const issuing = await queries.lockPurpose(tx, tenant, 'ca-issuing')
    const under = issuing.filter(({ certificate }) => new X509Certificate(certificate ?? '').checkIssued(x509))
    for (const { signer_id } of under) await queries.end(tx, tenant, signer_id, 'compromised', at)
    return under.map((key) => key.signer_id)
  }

  /** Ends a locked key. Refuses with counts if clients still need it, unless it is forced or compromised. */
  async function endKey(
    tx: Tx,
    source: Source,
    key: SigningKeyRow,
    { others, successor, ...how }: End & { others: readonly SigningKeyRow[]; successor: NewSigningKey | undefined },
  ): Promise<SigningKeyRow> {
    const tenant = source.tenantId
    const at = now()
    if (key.state === 'active') {
      if (!how.compromised) fail('validation_error', 'the key is active: activate its successor first')
      if (key.purpose === 'ca-root')
        fail('validation_error', 'the key is the active trust anchor: rotate the trust anchors with mode emergency')
    } else if (key.state === 'retiring' && !how.compromised && !how.force) {
      const reasons = await needed(tx, tenant, key, others, at)
      if (reasons.length > 0) fail('validation_error', `${reasons.join('; ')}: wait, or repeat the request with force`)
    }
    const ended = await queries.end(tx, tenant, key.signer_id, how.compromised ? 'compromised' : 'retired', at)
    if (!ended) throw new Error('the state of a locked key changed')
    if (key.state === 'active' && successor) await insertKeys(tx, tenant, [successor], at)
    if (how.compromised && ofAuthorities.has(key.purpose)) {
      const under = key.purpose === 'ca-root' ? await endUnder(tx, tenant, key, at) : []
      await deps.revokeIssuedBy(tx, source, [key.signer_id, ...under], at)
    }
    const { target } = about(key, undefined)
    const details = { compromised: how.compromised, ...(how.reason !== undefined && { reason: how.reason }) }
    await audit.record(tx, source, 'signer.retired', named(key), { target, details })
    await record(tx, tenant)
    return ended
  }

  return {
    list: (tenant: TenantId, query: PageQuery & { purpose?: string; state?: SignerState }) =>
      db.inTenant(tenant, (tx) =>
        pager.list(queries.selectSigners(tx, tenant, query), {
          operation: 'listSigners',
          tenant,
          query,
          orders: { created_at: { column: 'created_at', kind: 'time' } },
          tie: 'signer_id',
        }),
      ),

    get: (tenant: TenantId, signerId: string): Promise<SigningKeyRow> =>
      db.inTenant(tenant, async (tx) => (await queries.findSigner(tx, tenant, signerId)) ?? missing('signer')),

    create: async (actor: Actor, purpose: Purpose, provider: SignerProvider | undefined): Promise<SigningKeyRow> => {
      if (ofAuthorities.has(purpose))
        failField('purpose', 'cannot be that of a certification authority: rotate the trust anchors instead')
      if (purpose === 'tuf-root')
        failField('purpose', 'cannot be tuf-root: replace the update root with holdfast update root')
      const by = provider === undefined ? providers : providers.filter((p) => p.name === provider)
      if (by.length === 0) failField('provider', `this deployment has no ${provider} token: use local`)
      if (!by.some((p) => makes(p, purpose))) failField('provider', 'a token cannot create Ed25519 keys: use local')
      const tenant = actor.tenantId
      const refuse = () => failField('purpose', 'another key for this purpose is pending: activate or retire it first')
      // Checked before, so that a refused caller causes no key in a token.
      const keys = await db.inTenant(tenant, (tx) => queries.keysOf(tx, tenant, purpose))
      if (keys.some((key) => key.state === 'pending')) refuse()
      const key = await makeKey(by, purpose)
      return db.inTenant(tenant, async (tx) => {
        if (!(await queries.insertPendingSigner(tx, tenant, key, now()))) refuse()
        const row = (await queries.findSigner(tx, tenant, key.signer_id)) ?? missing('signer')
        await audit.record(tx, actor, 'signer.created', named(row), about(row, undefined))
        await record(tx, tenant)
        return row
      })
    },

    activate: (actor: Actor, signerId: string, reason: string | undefined) => {
      const tenant = actor.tenantId
      return db.inTenant(tenant, async (tx) => {
        const { purpose } = (await queries.findSigner(tx, tenant, signerId)) ?? missing('signer')
        const keys = await queries.lockPurpose(tx, tenant, purpose)
        const key = keys.find((k) => k.signer_id === signerId)
        if (key?.state === 'active') return { changed: false, signer: key }
        if (key?.state !== 'pending') fail('validation_error', 'only a pending key can be activated')
        const before = keys.find((k) => k.state === 'active')
        const at = now()
        if (before)
          await queries.beginRetiring(tx, tenant, before.signer_id, new Date(at.getTime() + overlapOf(purpose)))
        const signer = await queries.activate(tx, tenant, signerId, at)
        if (!signer) throw new Error('the state of a locked key changed')
        await audit.record(tx, actor, 'signer.activated', named(signer), about(signer, reason))
        await record(tx, tenant)
        return { changed: true, signer }
      })
    },

    retire: async (actor: Actor, signerId: string, how: End) => {
      const tenant = actor.tenantId
      const found = await db.inTenant(tenant, (tx) => queries.findSigner(tx, tenant, signerId))
      const { purpose, state } = found ?? missing('signer')
      const successor = how.compromised && state === 'active' ? await heirOf(tenant, purpose) : undefined
      return db.inTenant(tenant, async (tx) => {
        const keys = await queries.lockPurpose(tx, tenant, purpose)
        const key = keys.find((k) => k.signer_id === signerId)
        if (!key)
          return { changed: false, signer: (await queries.findSigner(tx, tenant, signerId)) ?? missing('signer') }
        const others = keys.filter((k) => k !== key)
        return { changed: true, signer: await endKey(tx, actor, key, { ...how, others, successor }) }
      })
    },

    /** Called by the sweep. True if the key was retired; a key that is still needed stays. */
    retireIfDue: (source: Source, signerId: string): Promise<boolean> =>
      db.inTenant(source.tenantId, async (tx) => {
        const tenant = source.tenantId
        const found = await queries.findSigner(tx, tenant, signerId)
        if (!found) return false
        const keys = await queries.lockPurpose(tx, tenant, found.purpose)
        const key = keys.find((k) => k.signer_id === signerId && k.state === 'retiring')
        const others = keys.filter((k) => k !== key)
        if (!key || (await needed(tx, tenant, key, others, now())).length > 0) return false
        const how = { compromised: false, force: false, reason: undefined }
        await endKey(tx, source, key, { ...how, others, successor: undefined })
        return true
      }),
  }
}
export type Signers = ReturnType<typeof createSigners>

const share = (what: string, { total, behind }: Coverage) => (behind > 0 ? [`${behind} of ${total} ${what}`] : [])

/** Returns the reasons why a key is still needed, with counts. Empty if it is not needed. */
const createNeeded =
  ({ coverageOf, certificatesOf }: Pick<TrustDeps, 'coverageOf' | 'certificatesOf'>) =>
  async (
    tx: Tx,
    tenant: TenantId,
    key: SigningKeyRow,
    heirs: readonly SigningKeyRow[],
    at: Date,
  ): Promise<string[]> => {
    const reasons: string[] = []
    if (key.state === 'retiring' && key.retire_after !== null && key.retire_after > at)
      reasons.push(`signatures of the key are valid until ${key.retire_after.toISOString()}`)
    if (key.purpose === 'ca-issuing') {
      const certificates = await certificatesOf(tx, tenant, key.signer_id, at)
      if (certificates > 0) reasons.push(`${certificates} certificates issued with the key are still valid`)
    }
    const successor = heirs.find((other) => other.state === 'active')
    if ((key.purpose === 'ca-root' || key.purpose === 'trust-set') && successor) {
      const listed = await firstListing(tx, tenant, successor.kid)
      const { devices, gateways } = await coverageOf(tx, tenant, listed ?? Number.MAX_SAFE_INTEGER)
      const behind = [...share('devices', devices), ...share('gateways', gateways)]
      if (behind.length > 0) reasons.push(`${behind.join(' and ')} have not fetched a trust set with its successor`)
    }
    return reasons
  }
