import type { Handlers } from '../../../http/handlers.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { idOf } from '../../../kernel/ids.ts'
import type { Downloads } from './downloads.ts'
import type { Manifests } from './manifest.ts'

export const deliveryHandlers = (manifests: Manifests, downloads: Downloads) =>
  ({
    updateManifest: ({ actor, query: { device_id, ...wanted } }) =>
      manifests(actor.tenantId, deviceOf(actor, device_id), wanted),
    updatePackage: ({ actor, query }) => downloads.byId(actor, idOf('package', query.target)),
    tufTarget: ({ actor, params }) => downloads.byTarget(actor, params),
  }) satisfies Partial<Handlers>

/** Returns the device of a request. A device can only name itself; other callers must name one. */
function deviceOf({ principal }: Actor, named: string | undefined): string {
  const id = named === undefined ? undefined : idOf('device', named)
  if (principal.kind === 'device') {
    if (id !== undefined && id !== principal.id) fail('forbidden', 'device_id: is not the device of your credential')
    return principal.id
  }
  return id ?? fail('bad_request', 'device_id: is required')
}
