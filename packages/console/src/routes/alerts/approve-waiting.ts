import { messageOf } from '../../api/api-error.ts'
import { call } from '../../api/client.ts'
import { openOverlay } from '../../shell/overlay.ts'
import { toast } from '../../ui/toast.tsx'

const filter = { effective_status: 'pending' } as const

/** Asks for confirmation before the pending devices are approved. The question gives their number. */
export async function approveWaiting(): Promise<void> {
  try {
    const { items } = await call('GET /v1/admin/devices', { query: { ...filter, limit: 5 } })
    const [only] = items
    if (!only) return toast({ title: 'No device waits for approval' })
    if (items.length === 1) return openOverlay({ kind: 'device_deed', deed: 'approve', target: { devices: [only] } })
    const body = { operation: 'approve' as const, filter, dry_run: true }
    const { matched } = await call('POST /v1/admin/devices/batch', { body })
    openOverlay({
      kind: 'device_deed',
      deed: 'approve',
      target: { devices: items, filter, filterWords: ['status Pending'], matched },
    })
  } catch (e) {
    toast({ kind: 'bad', title: 'No device was approved', text: messageOf(e) })
  }
}
