import { type ChangedKind, changedKindNames, changedKinds } from '@holdfast/contract/stream'
import type { Handlers } from '../../http/handlers.ts'
import { fail } from '../../kernel/app-error.ts'
import { Streamed } from '../../kernel/streamed.ts'
import type { Hub } from './hub.ts'
import { OpenStream } from './open-stream.ts'

const isKind = (name: string): name is ChangedKind => Object.hasOwn(changedKinds, name)

function askedFor(kinds: string | undefined): readonly ChangedKind[] {
  if (kinds === undefined) return changedKindNames
  return kinds
    .split(',')
    .map((name) =>
      isKind(name)
        ? name
        : fail('bad_request', `kinds: unknown kind "${name}"; known are ${changedKindNames.join(', ')}`),
    )
}

export const streamHandlers = (hub: Hub) =>
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
