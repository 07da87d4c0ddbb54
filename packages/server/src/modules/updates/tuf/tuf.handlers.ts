import type { Output } from '@holdfast/contract'
import type { tufStatus } from '@holdfast/contract/tuf'
import { tufKeyOf } from '@holdfast/crypto'
import type { Handlers } from '../../../http/handlers.ts'
import type { Repositories, Repository } from './repository.ts'
import { type Roots, whyDue } from './roots.ts'

export const tufHandlers = (repositories: Repositories, roots: Roots, now: () => Date) =>
  ({
    tufStatus: async ({ actor }) => viewStatus(await repositories.of(actor.tenantId), now()),
    replaceTufRoot: async ({ actor, body }) => {
      await roots.replace(actor, body)
      return viewStatus(await repositories.of(actor.tenantId), now())
    },
    tufMetadata: ({ actor, params }) => repositories.file(actor.tenantId, params.file),
  }) satisfies Partial<Handlers>

const viewStatus = (repository: Repository, now: Date): Output<typeof tufStatus> => {
  const { root, versions, keys } = repository
  return {
    root: root.document,
    is_online: repository.isOnline,
    expires_at: root.expiresAt.toISOString(),
    due: whyDue(repository, now),
    targets_version: versions.targets,
    snapshot_version: versions.snapshot,
    timestamp_version: versions.timestamp,
    online_keys: {
      targets: tufKeyOf(keys.targets.publicJwk),
      snapshot: tufKeyOf(keys.snapshot.publicJwk),
      timestamp: tufKeyOf(keys.timestamp.publicJwk),
    },
  }
}
