import { type ComponentProps, useId } from 'react'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icon.tsx'
import './ui.css'

type IconButtonProps = Omit<ComponentProps<'button'>, 'aria-label' | 'children' | 'disabled'> & {
  icon: IconName
  /** Effect and object: `Copy dev_01h…`, `Close`. */
  label: string
  size?: 's' | undefined
  offReason?: string | undefined
}

/**
 * Button that shows only an icon. Its label is its name for assistive technology and its tooltip.
 *
 * @example <IconButton icon="x" label="Close" onClick={close} />
 */
export function IconButton({ icon, label, size, offReason, className, onClick, ...rest }: IconButtonProps) {
  const reasonId = useId()
  const off = offReason === undefined ? {} : { 'aria-disabled': true, 'aria-describedby': reasonId }
  return (
    <>
      <button
        type="button"
        title={label}
        {...rest}
        {...off}
        className={classes('iconbtn', className)}
        aria-label={label}
        onClick={offReason === undefined ? onClick : undefined}
      >
        <Icon name={icon} size={size} />
      </button>
      {offReason !== undefined && (
        <span className="why" id={reasonId}>
          {offReason}
        </span>
      )}
    </>
  )
}
