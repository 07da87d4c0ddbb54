import type { PageQuery } from '../../../db/page.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId, missing } from '../../../kernel/ids.ts'
import type { UpdatesDeps } from '../deps.ts'
import { findRelease, lockRelease } from '../releases/releases.queries.ts'
import { noRelease } from '../releases/releases.ts'
import { targetOfPackage } from './package.ts'
import * as queries from './packages.queries.ts'

export function createPackageRules({ db, audit, pager }: Pick<UpdatesDeps, 'db' | 'audit' | 'pager'>) {
  return {
    list: (tenant: TenantId, releaseId: string, query: PageQuery) =>
      db.inTenant(tenant, async (tx) => {
        if (!(await findRelease(tx, tenant, releaseId))) noRelease()
        return pager.list(queries.selectPackages(tx, tenant).where('p.release_id', '=', releaseId), {
          operation: `listPackages|${releaseId}`,
          tenant,
          query,
          orders: { created_at: { column: 'p.created_at', kind: 'time' } },
          tie: 'p.package_id',
        })
      }),

    /** The content stays in the store for a while, and as long as another package refers to it. */
    remove: (actor: Actor, releaseId: string, packageId: string): Promise<void> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const tenant = actor.tenantId
        const release = (await lockRelease(tx, tenant, releaseId)) ?? noRelease()
        const found = await queries.findPackage(tx, tenant, packageId)
        if (found?.release_id !== releaseId) return missing('package')
        if (release.status !== 'draft')
          fail('validation_error', `the release is ${release.status}: only the packages of a draft can be changed`)
        await queries.deletePackage(tx, tenant, releaseId, packageId)
        const fields = { package_id: encodeId('package', packageId), release_id: encodeId('release', releaseId) }
        await audit.record(tx, actor, 'package.deleted', fields, { target: targetOfPackage(found) })
      }),
  }
}
export type PackageRules = ReturnType<typeof createPackageRules>
