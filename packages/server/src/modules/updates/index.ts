import type { TenantId } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { createAskers } from './delivery/asker.ts'
import { deliveryHandlers } from './delivery/delivery.handlers.ts'
import { createDownloads } from './delivery/downloads.ts'
import { createLive } from './delivery/live.ts'
import { createManifests } from './delivery/manifest.ts'
import type { BucketCredential, StoreOptions, UpdatesDeps } from './deps.ts'
import { packageHandlers } from './packages/packages.handlers.ts'
import { createPackageRules } from './packages/packages.ts'
import { createSweep } from './packages/sweep.ts'
import { createUploads } from './packages/uploads.ts'
import { releaseHandlers } from './releases/releases.handlers.ts'
import { createReleaseRules } from './releases/releases.ts'
import { createReleaseTransitions } from './releases/transitions.ts'
import { createBucketStore } from './store/bucket-store.ts'
import { createFolderStore } from './store/folder-store.ts'
import { createIncoming } from './store/incoming.ts'
import { createRepository, type Repositories } from './tuf/repository.ts'
import { createRoots, type Roots } from './tuf/roots.ts'
import { tufHandlers } from './tuf/tuf.handlers.ts'
import { hasMetadata, pruneMetadata } from './tuf/tuf.queries.ts'

export type { PackageStore } from './store/store.ts'

/** Returns a bucket store if a bucket is configured, otherwise a folder store. */
export const createPackageStore = ({ dir, bucket }: StoreOptions, credential: BucketCredential | undefined) =>
  bucket && credential ? createBucketStore({ ...bucket, ...credential }) : createFolderStore(dir)

/** Releases of the client: their packages, the rollout, and the TUF metadata by which a device verifies them. */
export function createUpdates(given: UpdatesDeps) {
  const deps = {
    ...given,
    incoming: createIncoming(given.packages.dir),
    store: createPackageStore(given.packages, given.bucketCredential),
  }
  const repositories = createRepository(deps)
  const roots = createRoots({ ...deps, repositories })
  const delivery = { ...deps, live: createLive(deps), repository: repositories.of, askers: createAskers(deps) }
  const sweep = createSweep(deps)

  return {
    handlers: {
      ...releaseHandlers(createReleaseRules(deps), createReleaseTransitions(deps)),
      ...packageHandlers(createPackageRules(deps), createUploads(deps)),
      ...deliveryHandlers(createManifests(delivery), createDownloads(delivery)),
      ...tufHandlers(repositories, roots, deps.now),
    },
    jobs: updateJobs({ ...deps, repositories, roots, sweep: sweep.run }),
    prunes: [pruneMetadata],
    /** Removes uploads that an ended process left on this machine. It does not affect stored packages. */
    start: (): void => void deps.incoming.sweep().catch(deps.onError),
    /** Removes everything of a tenant from the store, before its rows are erased. */
    removeAll: (tenant: TenantId): Promise<void> => sweep.removeAll(tenant),
  }
}

const updateJobs = ({
  db,
  tenants,
  repositories,
  roots,
  sweep,
}: Pick<UpdatesDeps, 'db' | 'tenants'> & {
  repositories: Repositories
  roots: Roots
  sweep: () => Promise<number>
}) => [
  {
    name: 'renew_update_metadata',
    cron: '5 * * * *',
    /** Refreshes metadata without a request too, so that a client that returns after days finds valid metadata. */
    run: async () =>
      eachTenant(await tenants(), async (tenant) => {
        if (!(await db.inTenant(tenant, (tx) => hasMetadata(tx, tenant)))) return
        await repositories.of(tenant)
        await roots.warn(tenant)
      }),
  },
  { name: 'sweep_packages', cron: '35 * * * *', run: sweep },
]
