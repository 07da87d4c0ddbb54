import type { ReactNode } from 'react'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icon.tsx'

type NoteProps = {
  kind?: 'info' | 'warn' | 'bad' | 'ok' | undefined
  icon?: IconName | undefined
  /** The fact, as a sentence. */
  title?: ReactNode
  /** What to do. */
  children?: ReactNode
  /** At most two buttons. */
  actions?: ReactNode
  /** `alert` for what went wrong just now, `status` for what changed. */
  role?: 'alert' | 'status' | undefined
}
const icons = { info: 'info', warn: 'warn', bad: 'bad', ok: 'check' } as const

/**
 * A message in the flow of the page.
 *
 * @example <Note kind="warn" title="The license ends in 9 d.">Install the new one.</Note>
 */
export function Note({ kind, icon, title, children, actions, role }: NoteProps) {
  return (
    <div className={classes('note', kind)} role={role}>
      <Icon name={icon ?? icons[kind ?? 'info']} />
      <div>
        {title !== undefined && <strong>{title}</strong>} {typeof children === 'string' ? <p>{children}</p> : children}
      </div>
      {actions !== undefined && <div className="acts row">{actions}</div>}
    </div>
  )
}
