import type { Contract, Output } from '@holdfast/contract'
import { type Noun, type SearchKind, searchKinds } from '@holdfast/contract/vocabulary'
import type { Match } from '../../db/search.ts'
import type { Handlers } from '../../http/handlers.ts'
import { type Actor, permissionsOf } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { encodeId } from '../../kernel/ids.ts'
import { actionPermissions } from './permissions.ts'
import type { Search } from './search.ts'

type Hit = Output<Contract['search']>['items'][number]

const usualLimit = 8
const nouns: Partial<Record<SearchKind, Noun>> = { policy_version: 'policy_bundle' }
/** Kinds whose ids are not TypeIDs. */
const named: readonly SearchKind[] = ['policy_resource', 'settings_page']

export const searchHandlers = ({ search }: { search: Search }) =>
  ({
    search: async ({ actor, query }) => {
      const { limit = usualLimit } = query
      const { searched, hits } = await search(actor, { text: query.q.trim(), limit, kinds: readKinds(query.kinds) })
      const inOrder = hits
        .flatMap(({ kind, matches }) => matches.slice(0, limit).map((match) => ({ kind, match })))
        .sort((a, b) => a.match.rank - b.match.rank || searchKinds.indexOf(a.kind) - searchKinds.indexOf(b.kind))
      return {
        items: inOrder.map(({ kind, match }) => view(actor, kind, match)),
        kinds: searched,
        more: searched.filter((kind) => hits.some((h) => h.kind === kind && h.matches.length > limit)),
      }
    },
  }) satisfies Partial<Handlers>

const isKind = (name: string): name is SearchKind => (searchKinds as readonly string[]).includes(name)
function readKinds(text: string | undefined): SearchKind[] | undefined {
  return text?.split(',').map((given) => {
    const name = given.trim()
    return isKind(name)
      ? name
      : fail('bad_request', `kinds: unknown kind "${name}": must be one of ${searchKinds.join(', ')}`)
  })
}

function view(actor: Actor, kind: SearchKind, { id, name, detail, status, allows }: Match): Hit {
  const held = permissionsOf(actor)
  const needed = actionPermissions[kind]
  return {
    kind,
    id: named.includes(kind) ? id : encodeId(nouns[kind] ?? (kind as Noun), id),
    name,
    detail,
    status,
    actions: allows.filter((action) => needed[action]?.every((permission) => held.has(permission)) ?? false),
  }
}
