import { type ChangedKind, changedKindNames, changedKinds } from '@holdfast/contract/stream'
import type { Handlers } from '../../http/handlers.ts'
import { fail } from '../../kernel/app-error.ts'
import { Streamed } from '../../kernel/results.ts'
import type { StreamDeps } from './deps.ts'
import { createHub, type Hub } from './hub.ts'
import { OpenStream } from './open-stream.ts'

/** Notifies clients of changes in a tenant as they happen. The console then refetches only the lists concerned. */
export function createStream(deps: StreamDeps) {
  const hub = createHub(deps)
  return { handlers: streamHandlers(hub), letGo: hub.stop, count: hub.count }
}

const isKind = (name: string): name is ChangedKind => Object.hasOwn(changedKinds, name)

function askedFor(kinds: string | undefined): readonly ChangedKind[] {
  if (kinds === undefined) return changedKindNames
  return kinds
    .split(',')
    .map((name) =>
      isKind(name)
        ? name
        : fail('bad_request', `kinds: unknown kind "${name}": must be one of ${changedKindNames.join(', ')}`),
    )
}

const streamHandlers = (hub: Hub) =>
  ({
    streamChanges: ({ actor, query, request }) => {
      const { permissions } = actor.principal
      const asked = askedFor(query.kinds)
      const kinds = new Set(
        changedKindNames.filter((kind) => asked.includes(kind) && permissions.has(changedKinds[kind].permission)),
      )
      const scope = { kinds, permissions, isFiltered: query.kinds !== undefined }
      return new Streamed({ type: 'text/event-stream' }, (clientGone, stands) =>
        hub.open(new OpenStream({ tenant: actor.tenantId, actor, stands, scope }), request.lastEventId, clientGone),
      )
    },
  }) satisfies Partial<Handlers>
