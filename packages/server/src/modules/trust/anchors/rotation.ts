import type { Actor, Source, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { minute } from '../../../kernel/time.ts'
import { everything } from '../../../replication/changes.ts'
import type { TrustDeps } from '../deps.ts'
import { crossCertify, makeHierarchy, makeIssuing } from '../keys/hierarchy.ts'
import type { Authority } from '../keys/keyring.ts'
import { insertKeys, type SigningKeyRow } from '../keys/keys.queries.ts'
import { overlapOf } from '../lifetimes.ts'
import * as signers from '../signers/signers.queries.ts'
import type { Trusted } from '../trust.ts'
import { insertCross } from './rotation.queries.ts'

type Rotate = {
  mode: 'planned' | 'emergency'
  /** The active anchor, as far as the caller knows it. */
  anchorId: string | undefined
  overlapMs: number
  reason: string | undefined
}
type Rotated = { anchorId: string; replacedId: string; retireAfter: Date | null }

/** Two emergency rotations within this time count as one, unless the caller names the anchor of the first. */
const sameEmergency = minute

/** Replaces the active root by a new one, with an issuing CA under it. */
export function createRotation({
  db,
  audit,
  changes,
  providers,
  now,
  revokeIssuedBy,
  trusted,
}: Pick<TrustDeps, 'db' | 'audit' | 'changes' | 'providers' | 'now' | 'revokeIssuedBy'> & { trusted: Trusted }) {
  const [provider] = providers

  /**
   * Makes the keys before the transaction that activates them. In a planned rotation the old and the new root
   * cross-certify each other.
   */
  async function prepare(tenant: TenantId, old: Authority, mode: Rotate['mode']) {
    const at = now()
    const { root, issuing } = await makeHierarchy(provider, tenant, at)
    if (mode === 'emergency') return { root, issuing, crosses: [] }
    const newWithOld = await crossCertify(old, root, at)
    const oldWithNew = await crossCertify(root, old, at)
    const pair = (issuer_id: string, subject_id: string, { certificate, notAfter }: typeof newWithOld) => ({
      issuer_id,
      subject_id,
      certificate,
      not_after: notAfter,
    })
    const newId = root.key.signer_id
    return { root, issuing, crosses: [pair(old.signerId, newId, newWithOld), pair(newId, old.signerId, oldWithNew)] }
  }

  function requireTurn(roots: readonly SigningKeyRow[], { mode, anchorId }: Rotate, at: Date): SigningKeyRow {
    const active = roots.find((r) => r.state === 'active')
    if (!active) throw new Error('the tenant has no active root')
    if (anchorId !== undefined && anchorId !== active.signer_id)
      failField('anchor_id', `is not the active trust anchor, which is ${encodeId('signer', active.signer_id)}`)
    const retiring = roots.find((r) => r.state === 'retiring')
    if (mode === 'planned' && retiring)
      fail(
        'validation_error',
        `a rotation is in progress: retire the trust anchor ${encodeId('signer', retiring.signer_id)} first`,
      )
    const isFresh = at.getTime() - (active.activated_at ?? active.created_at).getTime() < sameEmergency
    if (mode === 'emergency' && anchorId === undefined && isFresh)
      failField(
        'anchor_id',
        'is required, because the active trust anchor is less than a minute old: give its id to replace it',
      )
    return active
  }

  async function rotate(actor: Actor, asked: Rotate): Promise<Rotated> {
    const tenant = actor.tenantId
    const [old] = (await trusted.keyring(tenant)).roots
    if (!old) throw new Error('the tenant has no active root')
    // Checked before, so that a refused caller causes no key in a token.
    requireTurn(await db.inTenant(tenant, (tx) => signers.keysOf(tx, tenant, 'ca-root')), asked, now())
    const { root, issuing, crosses } = await prepare(tenant, old, asked.mode)
    return db.inTenant(tenant, async (tx) => {
      const at = now()
      const roots = await signers.lockPurpose(tx, tenant, 'ca-root')
      const active = requireTurn(roots, asked, at)
      if (active.signer_id !== old.signerId)
        fail(
          'validation_error',
          'another request rotated the trust anchors meanwhile: read them again, then repeat the change',
        )
      const issuers = await signers.lockPurpose(tx, tenant, 'ca-issuing')
      const retireAfter = new Date(at.getTime() + Math.max(overlapOf('ca-root'), asked.overlapMs))
      const isPlanned = asked.mode === 'planned'
      if (isPlanned) {
        await signers.beginRetiring(tx, tenant, active.signer_id, retireAfter)
        for (const { signer_id, state } of issuers)
          if (state === 'active') await signers.beginRetiring(tx, tenant, signer_id, retireAfter)
      } else {
        const ended = [...issuers, ...roots].map((key) => key.signer_id)
        for (const id of ended) await signers.end(tx, tenant, id, 'compromised', at)
        await revokeIssuedBy(tx, actor, ended, at)
      }
      await insertKeys(tx, tenant, [root.key, issuing], at)
      for (const cross of crosses) await insertCross(tx, tenant, cross, at)
      const anchorId = encodeId('signer', root.key.signer_id)
      await audit.record(
        tx,
        actor,
        'trust_anchors.rotated',
        { anchor_id: anchorId, mode: asked.mode },
        {
          target: { type: 'signer', id: anchorId, name: 'ca-root' },
          details: {
            replaced_anchor_id: encodeId('signer', active.signer_id),
            ...(asked.reason !== undefined && { reason: asked.reason }),
          },
        },
      )
      await changes.record(tx, tenant, [{ kind: 'trust', subject: everything }])
      return {
        anchorId: root.key.signer_id,
        replacedId: active.signer_id,
        retireAfter: isPlanned ? retireAfter : null,
      }
    })
  }

  return {
    rotate: async (actor: Actor, asked: Rotate): Promise<Rotated & { version: number }> => {
      const rotated = await rotate(actor, asked)
      return { ...rotated, version: await trusted.versionOf(actor.tenantId) }
    },

    /** Makes another issuing CA under the same root. False if another caller was faster. */
    renewIssuing: async (source: Source): Promise<boolean> => {
      const tenant = source.tenantId
      const { issuing, roots } = await trusted.keyring(tenant)
      const [old] = issuing
      const [root] = roots
      if (!old || !root) throw new Error('the tenant has no active authorities')
      const next = await makeIssuing(provider, tenant, root, now())
      return db.inTenant(tenant, async (tx) => {
        const at = now()
        // Its certificates end within the overlap. It stays as long as a chain with it may be presented.
        const retireAfter = new Date(at.getTime() + overlapOf('ca-issuing'))
        const [activeRoot] = (await signers.lockPurpose(tx, tenant, 'ca-root')).filter((r) => r.state === 'active')
        if (activeRoot?.signer_id !== root.signerId) return false
        if (!(await signers.beginRetiring(tx, tenant, old.signerId, retireAfter))) return false
        await insertKeys(tx, tenant, [next], at)
        const id = encodeId('signer', next.signer_id)
        const target = { type: 'signer', id, name: 'ca-issuing' }
        await audit.record(tx, source, 'issuing_ca.renewed', { signer_id: id }, { target })
        await changes.record(tx, tenant, [{ kind: 'trust', subject: everything }])
        return true
      })
    },
  }
}
export type Rotation = ReturnType<typeof createRotation>
