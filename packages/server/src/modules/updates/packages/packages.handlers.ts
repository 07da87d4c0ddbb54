import type { Output } from '@holdfast/contract'
import type { listPackages } from '@holdfast/contract/updates'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { pathOfTarget } from './package.ts'
import type { Package } from './packages.queries.ts'
import type { PackageRules } from './packages.ts'
import type { Uploads } from './uploads.ts'

export const packageHandlers = (packages: PackageRules, uploads: Uploads) =>
  ({
    listPackages: async ({ actor, params, query }) => {
      const found = await packages.list(actor.tenantId, idOf('release', params.release_id), query)
      return { items: found.items.map(viewPackage), next_cursor: found.next_cursor }
    },
    uploadPackage: async ({ actor, params, query, body, request }) => {
      const slot = { release_id: idOf('release', params.release_id), ...query }
      const { package: made, changed } = await uploads.upload(actor, slot, body, request.announced)
      return { package: viewPackage(made), changed }
    },
    deletePackage: async ({ actor, params }) => {
      await packages.remove(actor, idOf('release', params.release_id), idOf('package', params.package_id))
      return null
    },
  }) satisfies Partial<Handlers>

const viewPackage = (p: Package): Output<typeof listPackages>['items'][number] => ({
  package_id: encodeId('package', p.package_id),
  release_id: encodeId('release', p.release_id),
  platform: p.platform,
  arch: p.arch,
  filename: p.filename,
  size: p.size,
  sha256: p.sha256,
  target_path: pathOfTarget(p),
  created_at: p.created_at.toISOString(),
})
