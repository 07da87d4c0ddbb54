import { useQueryClient } from '@tanstack/react-query'
import { messageOf } from '../api/api-error.ts'
import { call, type OutputOf } from '../api/client.ts'
import { useCan, useMe } from '../api/me.ts'
import { MenuButton } from '../ui/menu.tsx'
import { toast } from '../ui/toast.tsx'

export type SavedView = OutputOf<'GET /v1/admin/views'>['items'][number]

const views = 'GET /v1/admin/views'

/** Menu of a saved view: share, make private, delete. */
export function ViewMenu({ view, onDeleted }: { view: SavedView; onDeleted: () => void }) {
  const queries = useQueryClient()
  const can = useCan()
  const { user } = useMe()
  const { view_id, name, shared } = view
  const isOwn = user !== null && view.owner?.user_id === user.user_id
  const offReason = isOwn || can('settings:write') ? undefined : 'It belongs to somebody else.'
  const change = async (act: () => Promise<unknown>, title: string) => {
    try {
      await act()
      await queries.invalidateQueries({ queryKey: [views] })
      toast({ title })
    } catch (e) {
      toast({
        kind: 'bad',
        title: `View “${name}” was not changed`,
        text: messageOf(e),
      })
    }
  }
  const share = () => {
    const body = { name, query: view.query, shared: !shared }
    return call('PUT /v1/admin/views/{view_id}', { params: { view_id }, body })
  }
  const remove = async () => {
    await call('DELETE /v1/admin/views/{view_id}', { params: { view_id } })
    onDeleted()
  }
  return (
    <MenuButton
      label={`Actions for the view ${name}`}
      items={[
        {
          id: 'share',
          label: shared ? 'Stop sharing' : 'Share with everybody',
          icon: 'people',
          offReason,
          onSelect: () => void change(share, shared ? `View “${name}” is yours alone` : `View “${name}” is shared`),
        },
        'line',
        {
          id: 'delete',
          label: 'Delete view',
          icon: 'x',
          danger: true,
          offReason,
          onSelect: () => void change(remove, `View “${name}” deleted`),
        },
      ]}
    />
  )
}
