import type { Database } from '../../../db/database.ts'
import type { Pager } from '../../../db/page.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { failField } from '../../../kernel/app-error.ts'
import { idOf } from '../../../kernel/ids.ts'
import { versioned } from '../../../kernel/version.ts'
import { selectGroups } from './groups.queries.ts'
import type { Groups } from './groups.ts'
import { decodeIds } from './references.ts'
import { viewGroup } from './view.ts'

const orders = {
  name: { column: 'name', kind: 'text' },
  created_at: { column: 'created_at', kind: 'time' },
} as const

export function groupHandlers({ db, pager, groups }: { db: Database; pager: Pager; groups: Groups }) {
  return {
    listGroups: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const found = await pager.list(selectGroups(tx, actor.tenantId, query.q), {
          operation: 'listGroups',
          tenant: actor.tenantId,
          query,
          orders,
          tie: 'group_id',
        })
        return { items: found.items.map(viewGroup), next_cursor: found.next_cursor }
      }),

    getGroup: async ({ actor, params }) => {
      const group = await groups.find(actor.tenantId, idOf('group', params.group_id))
      return versioned(group, viewGroup(group))
    },

    changeGroup: async ({ actor, body, expected }) => {
      const { operation, reason } = body
      const { name, description, members, add_members, remove_members } = body.group ?? {}
      const fields = {
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        ...(members && { members: decodeIds('user', 'group.members', members) }),
        ...(add_members && { add: decodeIds('user', 'group.add_members', add_members) }),
        ...(remove_members && { remove: decodeIds('user', 'group.remove_members', remove_members) }),
      }
      const found = async () => {
        if (operation === 'create') {
          if (body.group_id !== undefined)
            failField('group_id', 'is assigned by the server: leave it out to create a group')
          if (add_members ?? remove_members)
            failField('group', 'is not allowed with create: give the members of a new group in members')
          expected.require(undefined)
          return groups.create(
            actor,
            { ...fields, name: name ?? failField('group.name', 'is required to create a group') },
            reason,
          )
        }
        const id = idOf('group', body.group_id ?? failField('group_id', `is required to ${operation} a group`))
        if (operation === 'delete') {
          if (body.group !== undefined) failField('group', 'is not allowed with delete')
          return groups.remove(actor, id, { reason, expected })
        }
        if (body.group === undefined) failField('group', 'is required to update a group')
        if (members && (add_members ?? remove_members))
          failField(
            'group.members',
            'cannot be combined with add_members or remove_members, because it replaces all members',
          )
        return groups.update(actor, id, fields, { reason, expected })
      }
      const { changed, group } = await found()
      return { operation, changed, group: viewGroup(group) }
    },
  } satisfies Partial<Handlers>
}
