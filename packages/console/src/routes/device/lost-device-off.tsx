import { useOffReason } from '../../api/me.ts'
import { type DeviceRef, openOverlay } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Note } from '../../ui/note.tsx'
import { Sheet } from '../../ui/sheet.tsx'

/** Explains why the caller cannot run the playbook. Offers to suspend the device if the caller may do that. */
export function LostDeviceOff({ device, onClose }: { device: DeviceRef; onClose: () => void }) {
  const off = useOffReason()
  const canSuspend = off('devices:suspend') === undefined
  const suspend = () => openOverlay({ kind: 'device_deed', deed: 'suspend', target: { devices: [device] } })
  const request = `${device.name} (${device.device_id}) is lost. Please run the playbook lost_device on it.`
  return (
    <Sheet
      title={`Lost device: ${device.name}`}
      onClose={onClose}
      footer={
        <>
          <CopyButton kind="ghost" text={request} label="Copy request" />
          <span className="grow" />
          <Button onClick={onClose}>Close</Button>
          {canSuspend && (
            <Button kind="danger" autoFocus onClick={suspend}>
              Suspend {device.name}…
            </Button>
          )}
        </>
      }
    >
      <Note kind="warn" icon="lock" title="You cannot run this playbook.">
        <p>
          It needs the permission <code>incidents:run</code>. Send the request to somebody who has it
          {canSuspend ? ', and suspend the device until then. It gets no access until an administrator decides.' : '.'}
        </p>
      </Note>
    </Sheet>
  )
}
