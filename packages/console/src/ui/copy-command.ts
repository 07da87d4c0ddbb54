import { messageOf } from '../api/api-error.ts'
import { selectedTenant } from '../api/selected-tenant.ts'
import type { MenuItem } from './menu-popover.tsx'
import { toast } from './toast.tsx'

/** Copies a text. It fails where the browser refuses, and on a page without HTTPS, which has no clipboard. */
export const copyText = async (text: string): Promise<void> => navigator.clipboard.writeText(inTenant(text))

/** A command line of `holdfast` with the tenant that is looked at: without it, the command acts in the caller's own. */
export function inTenant(text: string): string {
  const tenant = selectedTenant()
  return tenant === undefined || !/^holdfast .*$/.test(text) || text.includes(' --tenant ')
    ? text
    : `${text} --tenant ${tenant}`
}

/** Copies a command line, and says whether that worked. */
export const copyCommand = (command: string): Promise<void> =>
  copyText(command).then(
    () => toast({ title: 'Command copied', text: command }),
    (e: unknown) => toast({ kind: 'bad', title: 'The command was not copied', text: `${command} (${messageOf(e)})` }),
  )

/** The line of a menu that copies a command. */
export const copyCommandItem = (command: string): MenuItem => ({
  id: 'copy',
  label: 'Copy as command',
  icon: 'term',
  onSelect: () => void copyCommand(command),
})
