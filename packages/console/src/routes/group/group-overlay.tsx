import type { GroupOverlay as Overlay } from '../../shell/overlay.ts'
import { AddMembers } from './add-members.tsx'
import { CreateGroup } from './create-group.tsx'
import { DeleteGroup } from './delete-group.tsx'
import { EditGroup } from './edit-group.tsx'

const shown = { add_members: AddMembers, edit: EditGroup, delete: DeleteGroup }

/** Sheet or question about groups. */
export function GroupOverlay({ overlay, onClose }: { overlay: Overlay; onClose: () => void }) {
  if (overlay.act === 'create') return <CreateGroup onClose={onClose} />
  const Shown = shown[overlay.act]
  return <Shown group={overlay.group} onClose={onClose} />
}
