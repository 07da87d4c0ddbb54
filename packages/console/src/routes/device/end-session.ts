import { messageOf } from '../../api/api-error.ts'
import { call } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { queryClient } from '../../api/query-client.ts'
import { toast } from '../../ui/toast.tsx'
import type { Device } from '../devices/words.ts'

/** Ends the running session of a device. Its gateway refuses the device for 5 minutes. */
export async function endSession({ session, name, device_id }: Device): Promise<void> {
  if (!session) return
  try {
    expectOwnChange('sessions')
    expectOwnChange('devices')
    const body = { operation: 'terminate' as const, session_ids: [session.session_id] }
    const { terminated } = await call('POST /v1/admin/sessions', { body })
    toast({
      title: terminated === 1 ? `Session of ${name} ended` : `${name} had no session any more`,
      text: terminated === 1 ? `${session.gateway_name ?? 'Its gateway'} lets it in again after 5 min.` : undefined,
    })
    await queryClient.invalidateQueries({ predicate: ({ queryKey }) => JSON.stringify(queryKey).includes(device_id) })
    await queryClient.invalidateQueries({ queryKey: ['GET /v1/admin/devices'] })
  } catch (e) {
    toast({ kind: 'bad', title: `The session of ${name} goes on`, text: messageOf(e) })
  }
}
