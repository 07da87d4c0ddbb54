import { messageOf } from '../api/api-error.ts'
import { selectedTenant } from '../api/selected-tenant.ts'
import type { MenuItem } from './menu-popover.tsx'
import { toast } from './toast.tsx'

/** Copies a text. Fails if the browser refuses, and on a page without HTTPS, which has no clipboard. */
export const copyText = async (text: string): Promise<void> => navigator.clipboard.writeText(inTenant(text))

/** Adds the selected tenant to a `holdfast` command line. Without it, the command acts in the caller's own tenant. */
export function inTenant(text: string): string {
  const tenant = selectedTenant()
  return tenant === undefined || !/^holdfast .*$/.test(text) || text.includes(' --tenant ')
    ? text
    : `${text} --tenant ${tenant}`
}

/** Copies a command line, and shows the result. */
export const copyCommand = (command: string): Promise<void> =>
  copyText(command).then(
    () => toast({ title: 'Command copied', text: command }),
    (e: unknown) => toast({ kind: 'bad', title: 'The command was not copied', text: `${command} (${messageOf(e)})` }),
  )

/** Menu item that copies a command line. */
export const copyCommandItem = (command: string): MenuItem => ({
  id: 'copy',
  label: 'Copy as command',
  icon: 'term',
  onSelect: () => void copyCommand(command),
})
