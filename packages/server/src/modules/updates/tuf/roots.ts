import { importTufKey, isSignedBy, tufKeyId, tufSignature } from '@holdfast/crypto'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { day } from '../../../kernel/time.ts'
import { everything } from '../../../replication/changes.ts'
import type { Notice } from '../../notifications/index.ts'
import type { UpdatesDeps } from '../deps.ts'
import { lockRepository } from '../repositories.queries.ts'
import { isOnline, keyIdOf, onlineRoles, type RoleKeys, type Root } from './metadata.ts'
import type { Repositories, Repository } from './repository.ts'
import { insertMetadata, newestMetadata } from './tuf.queries.ts'

const lifetime = { least: day, most: 10 * 365 * day }
/** Time before the end of an offline root at which its successor is requested. */
const warnedMs = 30 * day

/** Returns why a new root is needed from the holders of the root keys, or null if none is. */
export function whyDue({ isOnline: online, isCurrent, root }: Repository, now: Date): string | null {
  if (online) return null
  if (!isCurrent) return 'it does not list the current signing keys, so no new metadata are published'
  const left = root.expiresAt.getTime() - now.getTime()
  return left <= warnedMs ? `it expires at ${root.expiresAt.toISOString()}` : null
}

export function createRoots({
  db,
  audit,
  changes,
  notify,
  now,
  repositories,
}: Pick<UpdatesDeps, 'db' | 'audit' | 'changes' | 'notify' | 'now'> & { repositories: Repositories }) {
  return {
    /**
     * Stores the next root, made elsewhere. It checks the number, the keys and their ids, the end, the keys of the
     * other roles, and the signatures required by the present root and by the new one. If the control plane's key is
     * one of the root keys, it signs here.
     */
    replace: async (actor: Actor, newRoot: Root): Promise<void> => {
      const tenant = actor.tenantId
      const keys = await repositories.keysOf(tenant)
      const present = (await repositories.of(tenant)).root
      const { signed } = newRoot
      const { version } = signed
      if (version !== present.version + 1) failField('signed.version', `must be ${present.version + 1}`)
      const expiresAt = new Date(signed.expires)
      requireForm(signed, keys, expiresAt, now())
      const document = await countersigned(newRoot, present.document.signed, keys)
      const { keys: presentKeys, roles } = present.document.signed
      if (!isSignedBy(document, presentKeys, roles.root))
        failField('signatures', `must be signed by ${roles.root.threshold} keys of root ${present.version}`)
      if (!isSignedBy(document, signed.keys, signed.roles.root))
        failField('signatures', `must be signed by ${signed.roles.root.threshold} keys of this root itself`)
      const at = now()
      await db.inTenant(tenant, async (tx) => {
        await lockRepository(tx, tenant)
        const newest = (await newestMetadata(tx, tenant)).find((row) => row.role === 'root')
        const text = JSON.stringify(document)
        const row = { role: 'root', version, document: text, expires_at: expiresAt, created_at: at } as const
        if (newest?.version !== present.version || !(await insertMetadata(tx, tenant, row)))
          failField(
            'signed.version',
            'another request published a root with this version meanwhile: use the next version',
          )
        const target = { type: 'update_root', id: null, name: `root ${version}` }
        const details = {
          online: isOnline(signed, keys),
          threshold: signed.roles.root.threshold,
          keyids: signed.roles.root.keyids,
        }
        await audit.record(tx, actor, 'update_root.replaced', { root_version: version }, { target, details })
        await changes.record(tx, tenant, [{ kind: 'release', subject: everything }])
      })
    },

    /** Notifies administrators, once for each root, that the holders of the root keys must make a new one. */
    warn: async (tenant: TenantId): Promise<void> => {
      const repository = await repositories.of(tenant)
      const why = whyDue(repository, now())
      if (why === null) return
      await db.inTenant(tenant, (tx) =>
        notify(tx, tenant, newestRootNotice(encodeId('tenant', tenant), repository.root.version, why)),
      )
    },
  }
}
export type Roots = ReturnType<typeof createRoots>

function requireForm(signed: Root['signed'], keys: RoleKeys, expiresAt: Date, now: Date): void {
  for (const [keyid, key] of Object.entries(signed.keys)) {
    if (!importTufKey(key)) failField(`signed.keys.${keyid}`, 'is not a key of a supported scheme')
    if (tufKeyId(key) !== keyid) failField(`signed.keys.${keyid}`, 'does not match the id computed from its key')
  }
  for (const [role, { keyids, threshold }] of Object.entries(signed.roles)) {
    if (threshold > keyids.length)
      failField(`signed.roles.${role}.threshold`, 'must not be greater than the number of keys')
    const unknown = keyids.findIndex((id) => !Object.hasOwn(signed.keys, id))
    if (unknown >= 0) failField(`signed.roles.${role}.keyids[${unknown}]`, 'is not the id of a listed key')
  }
  for (const role of onlineRoles) {
    const { keyids, threshold } = signed.roles[role]
    if (threshold !== 1 || keyids.length !== 1 || keyids[0] !== keyIdOf(keys[role]))
      failField(`signed.roles.${role}`, `must list only the key ${keyIdOf(keys[role])}, the signing key of this server`)
  }
  const left = expiresAt.getTime() - now.getTime()
  if (!(left >= lifetime.least && left <= lifetime.most))
    failField('signed.expires', 'must be between one day and ten years from now')
}

/** Adds the control plane's signature if its key is a root key of the present root or of the next one. */
async function countersigned(newRoot: Root, present: Root['signed'], keys: RoleKeys): Promise<Root> {
  const own = keyIdOf(keys.root)
  const isKeeper = [present, newRoot.signed].some(({ roles }) => roles.root.keyids.includes(own))
  const others = newRoot.signatures.filter(
    (s, i, all) => s.keyid !== own && all.findIndex((o) => o.keyid === s.keyid) === i,
  )
  const signatures = isKeeper ? [...others, await tufSignature(newRoot.signed, keys.root)] : others
  return { signed: newRoot.signed, signatures }
}

const newestRootNotice = (tenantId: string, version: number, why: string): Notice => ({
  kind: 'update_root.due',
  severity: 'critical',
  title: `The update repository needs a new root after root ${version}`,
  detail: `${why[0]?.toUpperCase()}${why.slice(1)}. The key holders create, sign and publish it: holdfast update root next, then sign, then publish.`,
  subject: { type: 'tenant', id: tenantId, name: null },
  dedupe_key: `update_root.due:${version}:${why}`,
})
