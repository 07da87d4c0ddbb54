import type { OutputOf } from '../../api/client.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { Note } from '../../ui/note.tsx'

/** One line until the tenant is set up. */
export function StartLine({ start }: { start: OutputOf<'GET /v1/admin/start'> }) {
  const done = start.steps.filter((step) => step.done || step.dismissed).length
  return (
    <Note
      kind="info"
      title={`Getting started: ${done} of ${start.steps.length} steps done.`}
      actions={
        <ButtonLink size="sm" to="/admin/start">
          Go on
        </ButtonLink>
      }
    />
  )
}
