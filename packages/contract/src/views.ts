import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, EntryName, Id, List, ListQuery, Name, Nullable, OneOf, Shown, Time } from './schema.ts'
import { viewLimits, viewListNames } from './vocabulary.ts'

const viewFields = {
  name: Name,
  query: Type.Record(Type.String({ maxLength: 64 }), Type.String({ minLength: 1, maxLength: 512 }), {
    maxProperties: 32,
    description: 'Parameters of the list as its query string has them, without `cursor`, `limit` and `tenant_id`',
  }),
  shared: Type.Boolean({ description: 'Whether all users with permission to read the list see it' }),
}
const ListName = OneOf(viewListNames, { description: 'The list that it belongs to' })

export const SavedView = Closed(
  {
    view_id: Id('view'),
    list: ListName,
    ...viewFields,
    owner: Nullable(
      Closed(
        { user_id: Id('user'), username: EntryName },
        { description: 'The person who made it; null where an API key or a visitor from another tenant did' },
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
  summary: 'List the saved views of the caller and the shared ones of lists that the caller may read',
  access,
  query: ListQuery({ list: Type.Optional(ListName), shared: Type.Optional(Type.Boolean()) }, [
    'name',
    'created_at',
  ] as const),
  response: List(SavedView),
})

export const createView = endpoint({
  method: 'POST',
  path: '/v1/admin/views',
  summary: `Save a view of a list that the caller may read; ${viewLimits.own} a person, ${viewLimits.shared} shared ones a tenant`,
  access,
  audit: 'view.created',
  status: 201,
  body: Closed({ list: ListName, ...viewFields, shared: Type.Optional(viewFields.shared) }),
  response: SavedView,
})

export const getView = endpoint({
  method: 'GET',
  path: '/v1/admin/views/{view_id}',
  summary: 'One saved view',
  access,
  params,
  response: SavedView,
  etag: true,
})

export const updateView = endpoint({
  method: 'PUT',
  path: '/v1/admin/views/{view_id}',
  summary: 'Replace a saved view: an own one, or with settings:write a shared one',
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
  summary: 'Delete a saved view: an own one, or with settings:write a shared one',
  access,
  audit: 'view.deleted',
  params,
  response: Closed({ changed: Type.Boolean() }),
  ifMatch: true,
})
