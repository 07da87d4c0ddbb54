import type { Purpose } from '@holdfast/crypto'
import { sha256Hex } from '@holdfast/crypto'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { tufRestoreFloorAt } from '../../../kernel/restore-floor.ts'
import { Representation } from '../../../kernel/results.ts'
import { hour, minute } from '../../../kernel/time.ts'
import { everything } from '../../../replication/changes.ts'
import { fencedAt } from '../../../replication/fenced.ts'
import { tenantCache } from '../../../replication/tenant-cache.ts'
import { KeyAwayError } from '../../trust/index.ts'
import type { UpdatesDeps } from '../deps.ts'
import { pathOfTarget } from '../packages/package.ts'
import { liveReleases, packagesOf } from '../releases/live.queries.ts'
import {
  type IssuedMetadata,
  isOnline,
  lifetimes,
  namesOnline,
  nextMetadata,
  onlineRoles,
  type RepositoryState,
  type RoleKeys,
  type SignedMetadata,
  type TufTarget,
} from './metadata.ts'
import * as queries from './tuf.queries.ts'

type File = Representation<never>
export type Repository = {
  versions: Readonly<Record<queries.Role, number>>
  root: IssuedMetadata<NonNullable<RepositoryState['root']>['document']['signed']>
  keys: RoleKeys
  isOnline: boolean
  /** True if the served metadata are signed by keys that the root names. */
  isCurrent: boolean
  files: ReadonlyMap<string, File>
  refreshAt: Date
}

const purposes = {
  root: 'tuf-root',
  targets: 'tuf-targets',
  snapshot: 'tuf-snapshot',
  timestamp: 'tuf-timestamp',
} as const satisfies Record<queries.Role, Purpose>
const roles = ['root', 'targets', 'snapshot', 'timestamp'] as const
/** Tries while other replicas are faster; after these it fails. */
const attempts = 8
/** Interval between attempts to sign after a failure, in ms. */
const signAgainMs = minute

/**
 * The TUF repository of a tenant. The metadata are signed on the first request after a change, or after half of their
 * lifetime. Of two replicas that sign the same versions the first commit wins, and the other one reads again. Metadata
 * are read before the releases, so that no version lists less than the one before.
 */
export function createRepository({
  db,
  changes,
  feed,
  trust,
  now,
  onError,
}: Pick<UpdatesDeps, 'db' | 'changes' | 'feed' | 'trust' | 'now' | 'onError'>) {
  const keysOf = async (tenant: TenantId): Promise<RoleKeys> => ({
    root: await trust.signerFor(tenant, purposes.root),
    targets: await trust.signerFor(tenant, purposes.targets),
    snapshot: await trust.signerFor(tenant, purposes.snapshot),
    timestamp: await trust.signerFor(tenant, purposes.timestamp),
  })

  const read = (tenant: TenantId) =>
    db.inTenant(tenant, async (tx) => {
      const state = stateOf(await queries.newestMetadata(tx, tenant))
      const floor = tufRestoreFloorAt(await fencedAt(tx, tenant))
      return { state, targets: await targetsOf(tx, tenant), floor }
    })

  /** Writes all of them, or none if one of these versions already exists. */
  const write = (tenant: TenantId, made: readonly SignedMetadata[]): Promise<void> =>
    db
      .inTenant(tenant, async (tx) => {
        for (const { role, version, text, issuedAt, expiresAt } of made) {
          const row = { role, version, document: text, expires_at: expiresAt, created_at: issuedAt }
          if (!(await queries.insertMetadata(tx, tenant, row))) throw new Overtaken()
        }
        await changes.record(tx, tenant, [{ kind: 'release', subject: everything }])
      })
      .catch((e: unknown) => {
        if (!(e instanceof Overtaken)) throw e
      })

  /** Undefined while the signing keys are unavailable and the previous metadata are still valid: clients get those. */
  const next = (
    { state, targets, floor }: Awaited<ReturnType<typeof read>>,
    keys: RoleKeys,
  ): Promise<SignedMetadata[] | undefined> =>
    nextMetadata(state, targets, { keys, floor }, now()).catch((e: unknown) => {
      if (!(e instanceof KeyAwayError) || !roles.every((role) => state[role] && now() < state[role].expiresAt)) throw e
      onError(e.cause)
      return undefined
    })

  async function load(tenant: TenantId): Promise<Repository> {
    const keys = await keysOf(tenant)
    for (let n = 0; n < attempts; n++) {
      const found = await read(tenant)
      const made = await next(found, keys)
      if (made && made.length > 0) await write(tenant, made)
      else {
        const repository = repositoryOf(found.state, keys, now())
        return made ? repository : { ...repository, refreshAt: new Date(now().getTime() + signAgainMs) }
      }
    }
    throw new Error('the update metadata changed during each attempt to sign them')
  }

  const { get: repository } = tenantCache<Repository>(
    { changes, feed },
    { kinds: ['release', 'trust'], load, isOver: ({ refreshAt }) => now() >= refreshAt },
  )

  return {
    of: repository,
    keysOf,
    /**
     * Returns a file by the name that clients request. For a role with numbered versions that includes every old
     * version that is kept.
     */
    file: async (tenant: TenantId, name: string): Promise<File> => {
      const { files, versions } = await repository(tenant)
      const current = files.get(name)
      if (current) return current
      const [, number, role] = /^([1-9]\d{0,8})\.(root|targets|snapshot)\.json$/.exec(name) ?? []
      const known = roles.find((r) => r === role)
      if (!known || Number(number) > versions[known]) return noMetadata()
      const row = await db.inTenant(tenant, (tx) => queries.findMetadata(tx, tenant, known, Number(number)))
      return row ? fileOf(row.document) : noMetadata()
    },
  }
}
export type Repositories = ReturnType<typeof createRepository>
export type RepositoryOf = Repositories['of']

class Overtaken extends Error {}
const noMetadata = () => fail('not_found', 'no such metadata')
const fileOf = (text: string): File => new Representation<never>(sha256Hex(text), Buffer.from(text))

function stateOf(rows: readonly queries.MetadataRow[]): RepositoryState {
  const state: Record<string, IssuedMetadata> = {}
  for (const { role, version, document: text, created_at: issuedAt, expires_at: expiresAt } of rows)
    state[role] = { version, text, document: JSON.parse(text), issuedAt, expiresAt }
  // The stored documents were signed here, or verified when they were uploaded.
  return state as RepositoryState
}

/** Returns the packages of offered and paused releases by path. */
async function targetsOf(tx: Tx, tenant: TenantId): Promise<Record<string, TufTarget>> {
  const releases = new Map((await liveReleases(tx, tenant)).map((r) => [r.release_id, r]))
  const packages = await packagesOf(tx, tenant, [...releases.keys()])
  const targets = packages.map(({ size, sha256, ...p }): [string, TufTarget] => [
    pathOfTarget({ ...p, version: releases.get(p.release_id)?.version ?? '' }),
    { length: size, hashes: { sha256 } },
  ])
  return Object.fromEntries(targets.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function repositoryOf({ root, ...others }: RepositoryState, keys: RoleKeys, now: Date): Repository {
  if (!root) throw new Error('a TUF repository has no root')
  const issued = { root, ...others }
  const isCurrent = namesOnline(root.document.signed, keys)
  const versions = Object.fromEntries(roles.map((role) => [role, issued[role]?.version ?? 0]))
  const files = roles.flatMap((role): [string, File][] => {
    const one = issued[role]
    if (!one) return []
    return [[role === 'timestamp' ? 'timestamp.json' : `${one.version}.${role}.json`, fileOf(one.text)]]
  })
  const renewals = onlineRoles.flatMap((role) =>
    issued[role] ? issued[role].issuedAt.getTime() + lifetimes[role] / 2 : [],
  )
  return {
    versions: versions as Repository['versions'],
    root,
    keys,
    isOnline: isOnline(root.document.signed, keys),
    isCurrent,
    files: new Map(files),
    refreshAt: new Date(isCurrent ? Math.min(...renewals) : now.getTime() + hour),
  }
}
