import { classes } from './classes.ts'
import { Modal, type OverlayProps } from './overlay.tsx'

/**
 * Dialog in the middle of the page. It is open while it is rendered.
 *
 * @example {isOpen && <Dialog title="Rename device" onClose={close} footer={buttons}>…</Dialog>}
 */
export const Dialog = ({ wide = false, ...rest }: OverlayProps & { wide?: boolean | undefined }) => (
  <Modal place="center" look={classes('dialog', wide && 'wide')} {...rest} />
)
