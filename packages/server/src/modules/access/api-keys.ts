import type { Role } from '@holdfast/contract/vocabulary'
import { digestToken, mintToken } from '@holdfast/crypto'
import type { Changes } from '../../db/changes.ts'
import type { Database } from '../../db/database.ts'
import type { Actor, Source } from '../../kernel/actor.ts'
import { fail, failField } from '../../kernel/app-error.ts'
import { isCidr } from '../../kernel/cidr.ts'
import { decodeId, encodeId, newUuid } from '../../kernel/ids.ts'
import type { Audit } from '../audit/index.ts'
import { findKey, insertKey, type KeyRow, markRevoked } from './api-keys.queries.ts'
import { isRole, mayHandle } from './roles.ts'

export type NewKey = { name: string; role: Role; expires_at?: string; allowed_cidrs?: string[] }
export type ApiKeysDeps = { db: Database; audit: Audit; changes: Changes; now: () => Date; pepper: Uint8Array }

export function createApiKeys({ db, audit, changes, now, pepper }: ApiKeysDeps) {
  /** Mints for whoever is trusted to: the caller's right to the role has been checked. */
  const mint = async (source: Source, wanted: NewKey): Promise<{ row: KeyRow; secret: string }> => {
    const { token, id: lookup, hint } = mintToken('hfk')
    const row = {
      tenant_id: source.tenantId,
      key_id: newUuid(),
      hint,
      name: wanted.name,
      role: wanted.role,
      allowed_cidrs: wanted.allowed_cidrs ?? [],
      created_by: source.id,
      created_at: now(),
      expires_at: wanted.expires_at === undefined ? null : new Date(wanted.expires_at),
    }
    const key_id = encodeId('api_key', row.key_id)
    await db.inTenant(source.tenantId, async (tx) => {
      await insertKey(tx, { ...row, lookup, secret_digest: digestToken(pepper, token) })
      await audit.record(tx, source, 'api_key.created', { key_id, role: row.role }, { target: targetOf(row) })
    })
    return { row: { ...row, revoked_at: null, last_used_at: null }, secret: token }
  }

  return {
    mint,

    create: async (actor: Actor, wanted: NewKey) => {
      if (!mayHandle(actor, wanted.role))
        fail('forbidden', `the role ${wanted.role} allows more than you may do yourself`)
      if (wanted.expires_at !== undefined && !(new Date(wanted.expires_at) > now()))
        failField('expires_at', 'must be in the future')
      for (const [i, cidr] of (wanted.allowed_cidrs ?? []).entries())
        if (!isCidr(cidr)) failField(`allowed_cidrs[${i}]`, 'must be an address or a CIDR such as 192.0.2.0/24')
      return mint(actor, wanted)
    },

    /** Idempotent: a revoked key stays as it is. */
    revoke: (actor: Actor, wireId: string, reason: string | undefined): Promise<{ row: KeyRow; changed: boolean }> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const id = decodeId('api_key', wireId)
        const found = id && (await findKey(tx, actor.tenantId, id, now()))
        if (!found) fail('not_found', 'no such API key')
        if (isRole(found.role) && !mayHandle(actor, found.role))
          fail('forbidden', `this key has the role ${found.role}, which allows more than you may do yourself`)
        const at = now()
        if (!(await markRevoked(tx, actor.tenantId, id, at))) {
          // Someone else's revocation may be newer than what was read.
          return { row: (await findKey(tx, actor.tenantId, id, at)) ?? found, changed: false }
        }
        const more = { target: targetOf(found), ...(reason !== undefined && { details: { reason } }) }
        await audit.record(tx, actor, 'api_key.revoked', { key_id: wireId }, more)
        await changes.record(tx, actor.tenantId, [{ kind: 'api_key', subject: id }])
        return { row: { ...found, revoked_at: at }, changed: true }
      }),
  }
}

const targetOf = (key: { key_id: string; name: string }) => ({
  type: 'api_key',
  id: encodeId('api_key', key.key_id),
  name: key.name,
})
