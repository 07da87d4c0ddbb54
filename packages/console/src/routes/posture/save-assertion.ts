import { ApiError } from '../../api/api-error.ts'
import { call } from '../../api/client.ts'
import { formatWord } from '../../ui/format.ts'
import type { MenuItem } from '../../ui/menu.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { toast } from '../../ui/toast.tsx'

type Named = { device_id: string; name: string }

/** Downloads what the control plane vouches for of a device: a JWS, as a proxy or a registry verifies it. */
async function saveAssertion({ device_id, name }: Named): Promise<void> {
  try {
    const { assertion, status, reasons } = await call('GET /v1/posture/assertion', { query: { device_id } })
    saveFile(`${name}.posture.jwt`, 'application/jwt', assertion)
    const why = reasons.map(({ code, check_id }) => check_id ?? formatWord(code).toLowerCase()).join(', ')
    toast({ title: `Assertion of ${name} saved`, text: why ? `${formatWord(status)}: ${why}` : formatWord(status) })
  } catch (e) {
    const text = e instanceof ApiError ? e.detail : String(e)
    toast({ kind: 'bad', title: `No assertion of ${name} was saved`, text })
  }
}

/** The menu of a device in the lists of this view. */
export function assertionMenu(device: Named): readonly MenuItem[] {
  const command = `holdfast device posture ${device.name}`
  return [
    {
      ...{ id: 'assertion', label: 'Download signed assertion', icon: 'download' },
      onSelect: () => void saveAssertion(device),
    },
    {
      ...{ id: 'copy', label: 'Copy as a command', icon: 'term' },
      onSelect: () =>
        void navigator.clipboard.writeText(command).then(() => toast({ title: 'Command copied', text: command })),
    },
  ]
}
