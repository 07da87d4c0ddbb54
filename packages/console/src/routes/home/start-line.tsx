import { useApi } from '../../api/use-api.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { Note } from '../../ui/note.tsx'

/** One line until the tenant is set up. */
export function StartLine() {
  const { data } = useApi('GET /v1/admin/start', {})
  if (!data || data.complete) return null
  const done = data.steps.filter((step) => step.done || step.dismissed).length
  return (
    <Note
      kind="info"
      title={`Getting started: ${done} of ${data.steps.length} steps done.`}
      actions={
        <ButtonLink size="sm" to="/admin/start">
          Go on
        </ButtonLink>
      }
    />
  )
}
