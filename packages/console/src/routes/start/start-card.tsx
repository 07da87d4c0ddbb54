import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Frame } from '../../ui/frame.tsx'
import { Status } from '../../ui/status.tsx'
import { EnrollButton } from '../enrollment/enroll-button.tsx'
import { isOpen, stepWords } from './words.ts'

/** How far the tenant is set up, for Home. Nothing stands there once each step is done or skipped. */
export function StartCard() {
  const can = useCan()
  const { data } = useApi('GET /v1/admin/start', {}, { enabled: can('operations:read') })
  if (!data || data.complete) return null
  const shown = data.steps.filter((step) => !step.dismissed)
  const next = shown.find(isOpen)
  const hasDevice = data.steps.some((step) => step.step === 'device_enrolled' && step.done)
  return (
    <Frame
      title="Getting started"
      aside={`${shown.filter((step) => step.done).length} of ${shown.length} done`}
      footer={<AppLink to="/admin/start">All steps</AppLink>}
    >
      <div className="stack">
        <ul className="startlist">
          {shown.map((step) => (
            <li key={step.step}>
              <Status kind={step.done ? 'ok' : step === next ? 'half' : 'ring'}>
                <span className={step.done ? 'soft' : undefined}>{stepWords[step.step].title}</span>
                <span className="vh">{step.done ? ', done' : ', not yet'}</span>
              </Status>
            </li>
          ))}
        </ul>
        {!hasDevice && (
          <div className="row">
            <EnrollButton />
          </div>
        )}
      </div>
    </Frame>
  )
}
