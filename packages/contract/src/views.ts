import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, EntryName, Id, List, ListQuery, Name, Nullable, OneOf, Shown, Time, WasChanged } from './schema.ts'
import { viewLimits, viewListNames } from './vocabulary.ts'

const viewFields = {
  name: Name,
  query: Type.Record(Type.String({ maxLength: 64 }), Type.String({ minLength: 1, maxLength: 512 }), {
    maxProperties: 32,
    description: 'Query parameters of the list, without `cursor`, `limit` and `tenant_id`',
  }),
  shared: Type.Boolean({ description: 'True: all users who may read the list see the view' }),
}
const ListName = OneOf(viewListNames, { description: 'List to which the view belongs' })

export const SavedView = Closed(
  {
    view_id: Id('view'),
    list: ListName,
    ...viewFields,
    owner: Nullable(
      Closed(
        { user_id: Id('user'), username: EntryName },
        { description: 'Person who created the view; null: an API key or a person of another tenant created it' },
      ),
    ),
    created_at: Time,
    updated_at: Time,
  },
  { title: 'SavedView' },
)
const access = { by: ['session', 'api_key'], permission: 'own' } as const
const params = Closed({ view_id: Id('view') })

export const listViews = endpoint({
  method: 'GET',
  path: '/v1/admin/views',
  summary: 'List saved views',
  description: 'The list has the views of the caller, and the shared views of lists that the caller may read.',
  access,
  query: ListQuery(
    { list: Type.Optional(ListName), shared: Type.Optional(Type.Boolean()) },
    ['name', 'created_at'] as const,
    'name',
  ),
  response: List(SavedView),
})

export const createView = endpoint({
  method: 'POST',
  path: '/v1/admin/views',
  summary: 'Create a saved view',
  description: `A view saves the filters of a list that the caller may read. A person has at most ${viewLimits.own} views, a tenant ${viewLimits.shared} shared ones.`,
  access,
  audit: 'view.created',
  status: 201,
  body: Closed({ list: ListName, ...viewFields, shared: Type.Optional(viewFields.shared) }),
  response: SavedView,
})

export const getView = endpoint({
  method: 'GET',
  path: '/v1/admin/views/{view_id}',
  summary: 'Get a saved view',
  access,
  params,
  response: SavedView,
  etag: true,
})

export const updateView = endpoint({
  method: 'PUT',
  path: '/v1/admin/views/{view_id}',
  summary: 'Replace a saved view',
  description: 'The view must be one of the caller. With `settings:write` it may be a shared one.',
  access,
  audit: 'view.updated',
  params,
  body: Closed({ ...Shown(SavedView), ...viewFields }),
  response: SavedView,
  ifMatch: true,
})

export const deleteView = endpoint({
  method: 'DELETE',
  path: '/v1/admin/views/{view_id}',
  summary: 'Delete a saved view',
  description: 'The view must be one of the caller. With `settings:write` it may be a shared one.',
  access,
  audit: 'view.deleted',
  params,
  response: Closed({ changed: WasChanged }),
  ifMatch: true,
})
