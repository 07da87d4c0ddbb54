import type { Role } from '@holdfast/contract/vocabulary'
import { digestToken, equalDigest, parseToken } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { Principal, TenantId } from '../../kernel/actor.ts'
import { isWithin } from '../../kernel/cidr.ts'
import { createWriteBehind } from '../../kernel/write-behind.ts'
import type { Changes } from '../../memory/changes.ts'
import { createCredentialCache } from '../../memory/credential-cache.ts'
import type { Memory } from '../../memory/held.ts'
import { findByLookup, writeActivity } from './api-keys.queries.ts'
import { isRole, permissionsOfRoles } from './roles.ts'

const activityWithinMs = 15_000

export type KeyPrincipal = Extract<Principal, { kind: 'api_key' }>
type Known = { principal: KeyPrincipal; expiresAt: Date | null; allowedCidrs: readonly string[] }

export function createKeyVerifier(deps: {
  db: Database
  changes: Changes
  feed: Memory['feed']
  now: () => Date
  pepper: Uint8Array
  onError: (e: Error) => void
}) {
  const { db, changes, feed, now, pepper } = deps

  /** The cache's key is the public look-up id and the digest of the whole token. */
  async function load(key: string): Promise<Known | undefined> {
    const [lookup = '', hex = ''] = key.split(':')
    const digest = Buffer.from(hex, 'hex')
    const rows = await db.acrossTenants((tx) => findByLookup(tx, lookup))
    const row = rows.find((r) => equalDigest(r.secret_digest, digest))
    if (!row) return undefined
    const roles: Role[] = isRole(row.role) ? [row.role] : []
    return {
      principal: {
        kind: 'api_key',
        tenantId: row.tenant_id as TenantId,
        id: row.key_id,
        name: row.name,
        roles,
        permissions: permissionsOfRoles(roles),
      },
      expiresAt: row.expires_at,
      allowedCidrs: row.allowed_cidrs,
    }
  }
  const cache = createCredentialCache<Known>({
    max: 50_000,
    feed,
    changes,
    load,
    subjectsOf: (known) => [`api_key:${known.principal.id}`],
  })
  const activity = createWriteBehind({
    write: async (batch) => {
      const used = [...batch].map(([key, at]) => {
        const [tenant_id = '', key_id = ''] = key.split('/')
        return { tenant_id, key_id, at }
      })
      await db.acrossTenants((tx) => writeActivity(tx, used))
    },
    onError: deps.onError,
  })

  const judge = (known: Known | undefined, sourceIp: string): KeyPrincipal | undefined => {
    if (!known) return undefined
    const at = now()
    if (known.expiresAt && known.expiresAt <= at) return undefined
    if (known.allowedCidrs.length > 0 && !isWithin(sourceIp, known.allowedCidrs)) return undefined
    activity.touch(`${known.principal.tenantId}/${known.principal.id}`, at, activityWithinMs)
    return known.principal
  }

  return {
    verifyApiKey: (
      token: string,
      incoming: { sourceIp: string },
    ): KeyPrincipal | undefined | Promise<KeyPrincipal | undefined> => {
      const parsed = parseToken(token)
      if (parsed?.prefix !== 'hfk') return undefined
      const found = cache.get(`${parsed.id}:${digestToken(pepper, token).toString('hex')}`)
      return found instanceof Promise
        ? found.then((known) => judge(known, incoming.sourceIp))
        : judge(found, incoming.sourceIp)
    },
    flushActivity: activity.flush,
  }
}
