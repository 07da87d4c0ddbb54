import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Nullable, OneOf } from './schema.ts'
import { searchActions, searchKinds } from './vocabulary.ts'

export const SearchHit = Closed(
  {
    kind: OneOf(searchKinds),
    id: Type.String({
      description:
        'TypeID of the thing; of a policy_resource its name in the policy, of a settings_page the path of the console',
    }),
    name: Type.String(),
    detail: Nullable(
      Type.String({ description: 'More that tells it from others: a serial number, an address, a hint' }),
    ),
    status: Nullable(Type.String({ description: 'Status value of its own list; null if the kind has none' })),
    actions: Type.Array(OneOf(searchActions), {
      description:
        'Operations and playbooks that the caller may run on it and that its status allows. The operation itself judges again',
    }),
  },
  { title: 'SearchHit' },
)

export const search = endpoint({
  method: 'GET',
  path: '/v1/admin/search',
  summary: 'Search all kinds that the caller may read, by the words of a name',
  access: { by: ['session', 'api_key'], permission: 'own' },
  query: Closed({
    q: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '\\S',
      description: 'The beginning of a word of a name, an address, a serial number or a hint, in any case',
    }),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 20, description: 'Hits of each kind; default: 8' })),
    kinds: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: `Only these, between commas: ${searchKinds.join(', ')}`,
      }),
    ),
  }),
  response: Closed({
    items: Type.Array(SearchHit, {
      description: 'Exact matches first, then those whose name begins with the text, then the others',
    }),
    kinds: Type.Array(OneOf(searchKinds), { description: 'The kinds that were searched: the caller may read them' }),
    more: Type.Array(OneOf(searchKinds), { description: 'The kinds that have more matches than are shown' }),
  }),
})
