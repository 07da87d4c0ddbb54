import { messageOf } from '../../api/api-error.ts'
import { call } from '../../api/client.ts'
import { copyCommandItem } from '../../ui/copy-command.ts'
import { formatWord } from '../../ui/format.ts'
import type { MenuItem } from '../../ui/menu-popover.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { toast } from '../../ui/toast.tsx'

type Named = { device_id: string; name: string }

/** Downloads the signed posture assertion of a device: a JWS that a proxy or a registry verifies. */
async function saveAssertion({ device_id, name }: Named): Promise<void> {
  try {
    const { assertion, status, reasons } = await call('GET /v1/posture/assertion', { query: { device_id } })
    saveFile(`${name}.posture.jwt`, 'application/jwt', assertion)
    const why = reasons.map(({ code, check_id }) => check_id ?? formatWord(code).toLowerCase()).join(', ')
    toast({ title: `Assertion of ${name} saved`, text: why ? `${formatWord(status)}: ${why}` : formatWord(status) })
  } catch (e) {
    const text = messageOf(e)
    toast({ kind: 'bad', title: `No assertion of ${name} was saved`, text })
  }
}

/** Returns the menu of a device in the lists of the posture view. */
export function assertionMenu(device: Named): readonly MenuItem[] {
  return [
    {
      id: 'assertion',
      label: 'Download signed assertion',
      icon: 'download',
      onSelect: () => void saveAssertion(device),
    },
    copyCommandItem(`holdfast device posture ${device.name}`),
  ]
}
