import type { Handlers } from '../../http/handlers.ts'
import { encodeId, idOf } from '../../kernel/ids.ts'
import { requireSame, versioned } from '../../kernel/version.ts'
import type { ViewRow } from './views.queries.ts'
import { type Views, viewVersion } from './views.ts'

/** Fields that a PUT cannot change. It may send them back unchanged. */
const fixed = ['view_id', 'list', 'created_at'] as const

export const viewHandlers = ({ views }: { views: Views }) =>
  ({
    listViews: async ({ actor, query }) => {
      const { items, next_cursor } = await views.list(actor, query)
      return { items: items.map(view), next_cursor }
    },
    createView: async ({ actor, body: { list, name, query, shared = false } }) =>
      view(await views.create(actor, list, { name, query, shared })),
    getView: async ({ actor, params }) => shown(await views.find(actor, idOf('view', params.view_id))),
    updateView: async ({ actor, params, body, expected }) => {
      const { name, query, shared } = body
      return shown(
        await views.replace(actor, idOf('view', params.view_id), { name, query, shared }, (before) => {
          expected.require(viewVersion(before))
          requireSame(view(before), body, fixed)
        }),
      )
    },
    deleteView: async ({ actor, params, expected }) => ({
      changed: await views.remove(actor, idOf('view', params.view_id), expected),
    }),
  }) satisfies Partial<Handlers>

const shown = (row: ViewRow) => versioned(viewVersion(row), view(row))
const view = (row: ViewRow) => ({
  view_id: encodeId('view', row.view_id),
  list: row.list,
  name: row.name,
  query: row.query,
  shared: row.shared,
  owner:
    row.owner_id !== null && row.owner_name !== null
      ? { user_id: encodeId('user', row.owner_id), username: row.owner_name }
      : null,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
