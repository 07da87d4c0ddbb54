import type { Readable } from 'node:stream'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { tooMany } from '../../../kernel/app-error.ts'
import { missing } from '../../../kernel/ids.ts'
import { type ByteRange, Download } from '../../../kernel/results.ts'
import type { UpdatesDeps } from '../deps.ts'
import { pathOfTarget } from '../packages/package.ts'
import { findPackage } from '../packages/packages.queries.ts'
import type { PackageStore } from '../store/store.ts'
import type { Askers } from './asker.ts'
import type { LiveOf } from './live.ts'
import { reaches } from './offer.ts'

/** Most concurrent downloads of a replica. Each holds a file or a connection to the bucket open. */
const most = 2000

const noPackage = () => missing('package')
type Stored = { blob_id: string; size: number; sha256: string; filename: string }
type Target = { version: string; platform: string; arch: string; file: string }

/**
 * Downloads packages by names that this server issued. A device gets the packages of a release that reaches it, even
 * while that release is paused.
 */
export function createDownloads({
  db,
  live,
  askers,
  store,
}: Pick<UpdatesDeps, 'db'> & { live: LiveOf; askers: Askers; store: PackageStore }) {
  let running = 0

  async function open(tenant: TenantId, { blob_id: blobId, size }: Stored, range: ByteRange | undefined) {
    if (running >= most) throw tooMany('concurrent downloads of packages', 10)
    running++
    let bytes: Readable
    try {
      bytes = await store.open({ tenant, blobId }, size, range)
    } catch (e) {
      running--
      throw e
    }
    bytes.once('close', () => running--)
    return bytes
  }
  const given = (tenant: TenantId, stored: Stored) => new Download(stored, (range) => open(tenant, stored, range))

  return {
    byId: async (actor: Actor, packageId: string): Promise<Download> => {
      const { tenantId: tenant, principal } = actor
      if (principal.kind !== 'device') {
        const found = await db.inTenant(tenant, (tx) => findPackage(tx, tenant, packageId))
        return given(tenant, found ?? noPackage())
      }
      const found = (await live(tenant)).byPackage.get(packageId) ?? noPackage()
      const asker = await askers(tenant, principal.id)
      return reaches(found.release, asker) ? given(tenant, found.package) : noPackage()
    },

    /** Finds a package by its path in the TUF repository. The last part of the path begins with the SHA-256. */
    byTarget: async (actor: Actor, { file, ...where }: Target): Promise<Download> => {
      const { tenantId: tenant, principal } = actor
      const [, sha256, filename = ''] = /^([0-9a-f]{64})\.(.+)$/s.exec(file) ?? []
      const found = (await live(tenant)).byTarget.get(pathOfTarget({ ...where, filename })) ?? noPackage()
      if (found.package.sha256 !== sha256) return noPackage()
      if (principal.kind !== 'device') return given(tenant, found.package)
      const asker = await askers(tenant, principal.id)
      return reaches(found.release, asker) ? given(tenant, found.package) : noPackage()
    },
  }
}
export type Downloads = ReturnType<typeof createDownloads>
