import type { MouseEvent } from 'react'
import { useOffReason } from '../../api/me.ts'
import { openOverlay } from '../../shell/overlay.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { Icon } from '../../ui/icon.tsx'

type Props = { label?: string; kind?: 'primary' | 'plain'; size?: 'sm' }

/**
 * Opens the enrollment sheet above the current page. It is a link, so that another tab can open the same sheet.
 *
 * @example <EnrollButton label="Enroll the first device" />
 */
export function EnrollButton({ label = 'Enroll device', kind = 'primary', size }: Props) {
  const offReason = useOffReason()('enrollment_tokens:write')
  if (offReason !== undefined)
    return (
      <Button icon="plus" size={size} offReason={offReason}>
        {label}
      </Button>
    )
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    openOverlay({ kind: 'enroll' })
  }
  return (
    <AppLink to="/admin/enrollment/new" className={classes('btn', kind, size)} onClick={open}>
      <Icon name="plus" />
      {label}
    </AppLink>
  )
}
