import type { OutputOf } from '../../api/client.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { Note } from '../../ui/note.tsx'
import { progressOf } from '../start/words.ts'

/** Progress of the setup, until each step is done or skipped. */
export function StartLine({ start }: { start: OutputOf<'GET /v1/admin/start'> }) {
  return (
    <Note
      kind="info"
      title={`Getting started: ${progressOf(start.steps)}.`}
      actions={
        <ButtonLink size="sm" to="/admin/start">
          Continue setup
        </ButtonLink>
      }
    />
  )
}
