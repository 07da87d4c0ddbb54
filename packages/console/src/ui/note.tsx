import type { ReactNode } from 'react'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icon.tsx'

type NoteProps = {
  kind?: 'info' | 'warn' | 'bad' | 'ok' | undefined
  icon?: IconName | undefined
  /** Fact, as a sentence. */
  title?: ReactNode
  /** Recommended action. */
  children?: ReactNode
  /** At most two buttons. */
  actions?: ReactNode
  /** `alert` for a failure just now, `status` for a change. */
  role?: 'alert' | 'status' | undefined
}
const icons = { info: 'info', warn: 'warn', bad: 'bad', ok: 'check' } as const

/**
 * Message in the flow of the page.
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
