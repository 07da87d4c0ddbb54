import { compareVersions } from '@holdfast/contract/semver'
import type { TenantId } from '../../../kernel/actor.ts'
import { tenantCache } from '../../../replication/tenant-cache.ts'
import type { UpdatesDeps } from '../deps.ts'
import { pathOfTarget } from '../packages/package.ts'
import * as queries from '../releases/live.queries.ts'
import type { LivePackage, LiveRelease } from './offer.ts'

type Found = { release: LiveRelease; package: LivePackage }
type Live = {
  /** From the newest version to the oldest. */
  releases: readonly LiveRelease[]
  byPackage: ReadonlyMap<string, Found>
  byTarget: ReadonlyMap<string, Found>
}

/** Cache of the releases that a tenant offers, so that a poll or a download reads no database for them. */
export function createLive({ db, changes, feed }: Pick<UpdatesDeps, 'db' | 'changes' | 'feed'>) {
  async function load(tenant: TenantId): Promise<Live> {
    const { rows, packages } = await db.inTenant(tenant, async (tx) => {
      const rows = await queries.liveReleases(tx, tenant)
      const ids = rows.map((r) => r.release_id)
      return { rows, packages: await queries.packagesOf(tx, tenant, ids) }
    })
    const ofRelease = Map.groupBy(packages, (p) => p.release_id)
    const releases = rows
      .map((row) => ({ ...row, packages: ofRelease.get(row.release_id) ?? [] }))
      .sort((a, b) => compareVersions(b.version, a.version))
    const found = releases.flatMap((release) => release.packages.map((p) => ({ release, package: p })))
    return {
      releases,
      byPackage: new Map(found.map((f) => [f.package.package_id, f])),
      byTarget: new Map(found.map((f) => [pathOfTarget({ ...f.package, version: f.release.version }), f])),
    }
  }
  return tenantCache<Live>({ changes, feed }, { kinds: ['release'], load }).get
}
export type LiveOf = ReturnType<typeof createLive>
