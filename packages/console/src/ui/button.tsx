import { type ReactNode, type Ref, useId, useState } from 'react'
import { AppLink } from './app-link.tsx'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icon.tsx'
import { Kbd } from './kbd.tsx'
import './ui.css'

type Look = {
  kind?: 'primary' | 'ghost' | 'danger' | 'danger-solid' | undefined
  size?: 'sm' | undefined
  icon?: IconName | undefined
  /** Key that does the same, for example `R`. The view registers the key itself. */
  kbd?: string | undefined
  children: ReactNode
}
type ButtonProps = Look & {
  /** Handler; the button shows `busyLabel` until its promise settles. The caller shows a rejected promise. */
  onClick?: (() => unknown) | undefined
  /** Reason why the button is off. The button stays focusable, so that keyboard users can read the reason. */
  offReason?: string | undefined
  busyLabel?: string | undefined
  /** True while the form of a submit button works. */
  isBusy?: boolean | undefined
  type?: 'button' | 'submit' | undefined
  autoFocus?: boolean | undefined
  ref?: Ref<HTMLButtonElement> | undefined
}

/**
 * Button with a verb and an object as its label.
 *
 * @example <Button kind="primary" icon="plus" busyLabel="Creating…" onClick={createToken}>Create token</Button>
 */
export function Button({ kind, size, icon, kbd, children, type = 'button', ...rest }: ButtonProps) {
  const { onClick, offReason, busyLabel, isBusy: isBusyOutside = false, autoFocus, ref } = rest
  const reasonId = useId()
  const [isRunning, setIsRunning] = useState(false)
  const isBusy = isRunning || isBusyOutside
  const isOff = offReason !== undefined
  const click = async () => {
    if (isBusy || isOff || !onClick) return
    const result = onClick()
    if (!(result instanceof Promise)) return
    setIsRunning(true)
    await result.catch(() => undefined)
    setIsRunning(false)
  }
  return (
    <>
      <button
        ref={ref}
        type={isOff || isBusy ? 'button' : type}
        className={classes('btn', kind, size)}
        aria-disabled={isOff || isBusy || undefined}
        aria-describedby={isOff ? reasonId : undefined}
        aria-busy={isBusy || undefined}
        data-autofocus={autoFocus || undefined}
        onClick={click}
      >
        {icon && <Icon name={icon} />}
        {busyLabel === undefined ? children : <Labels label={children} busyLabel={busyLabel} isBusy={isBusy} />}
        {kbd && <Kbd>{kbd}</Kbd>}
      </button>
      {isOff && (
        <span className="why" id={reasonId}>
          {offReason}
        </span>
      )}
    </>
  )
}

/** Both labels share a cell, so that the width stays the same when one replaces the other. */
const Labels = ({ label, busyLabel, isBusy }: { label: ReactNode; busyLabel: string; isBusy: boolean }) => (
  <span className="labels">
    <span className={isBusy ? 'unseen' : undefined}>{label}</span>
    <span className={isBusy ? undefined : 'unseen'}>{busyLabel}</span>
  </span>
)

/**
 * Link that looks like a button.
 *
 * @example <ButtonLink to="/admin/devices" kind="ghost">All devices</ButtonLink>
 */
export function ButtonLink({ kind, size, icon, kbd, children, to }: Look & { to: string }) {
  return (
    <AppLink to={to} className={classes('btn', kind, size)}>
      {icon && <Icon name={icon} />}
      {children}
      {kbd && <Kbd>{kbd}</Kbd>}
    </AppLink>
  )
}
