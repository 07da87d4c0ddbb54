import { Modal, type OverlayProps } from './overlay.tsx'

/**
 * Sheet at the right edge, to create or edit. It is open while it is rendered.
 *
 * @example {isOpen && <Sheet title="Enroll device" onClose={close} isHeld={isDirty && 'typed'}>…</Sheet>}
 */
export const Sheet = (props: OverlayProps) => <Modal place="right" look="sheet" {...props} />
