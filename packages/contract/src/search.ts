import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Nullable, OneOf } from './schema.ts'
import { searchActions, searchKinds } from './vocabulary.ts'

export const SearchHit = Closed(
  {
    kind: OneOf(searchKinds),
    id: Type.String({
      description:
        'TypeID of the object. Of a `policy_resource` its name in the policy, of a `settings_page` its path in the console',
    }),
    name: Type.String(),
    detail: Nullable(
      Type.String({ description: 'Detail that distinguishes the object: a serial number, an address or a hint' }),
    ),
    status: Nullable(Type.String({ description: 'Status value of its own list; null if the kind has none' })),
    actions: Type.Array(OneOf(searchActions), {
      description:
        'Operations and playbooks that the caller may run and that the status allows. The operation checks both again',
    }),
  },
  { title: 'SearchHit' },
)

export const search = endpoint({
  method: 'GET',
  path: '/v1/admin/search',
  summary: 'Search objects by name',
  description: 'The search covers all kinds that the caller may read.',
  access: { by: ['session', 'api_key'], permission: 'own' },
  query: Closed({
    q: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '\\S',
      description:
        'Beginning of a word in a name, an address, a serial number or a hint. Upper and lower case are equal',
    }),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 20, description: 'Number of results of each kind. Default: 8' }),
    ),
    kinds: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: `Only objects of these kinds, separated by commas: ${searchKinds.join(', ')}`,
      }),
    ),
  }),
  response: Closed({
    items: Type.Array(SearchHit, {
      description: 'Exact matches are first, then names that begin with the text, then others',
    }),
    kinds: Type.Array(OneOf(searchKinds), { description: 'Kinds that were searched. The caller may read them' }),
    more: Type.Array(OneOf(searchKinds), { description: 'Kinds with more matches than the answer shows' }),
  }),
})
