import type { OutputOf } from '../../api/client.ts'
import { CellStrip } from '../../ui/cell-strip.tsx'
import { type Gateway, isReachable } from './lost-device-preview.tsx'

type Step = OutputOf<'GET /v1/admin/workflows/runs/{workflow_run_id}'>['steps'][number]
type Counts = { confirmed?: number; waiting?: number; down?: number }
type State = 'confirmed' | 'not yet' | 'down'
type Cell = { id: string; name: string; state: State }
const marks = { confirmed: 'ok', 'not yet': 'wait', down: 'bad' } as const

/** "9 of 10 confirmed", one cell for each gateway. After the step its result has the same figures. */
export function Confirmations({ step, gateways }: { step: Step; gateways: readonly Gateway[] | undefined }) {
  const counts = (step.confirmations ?? step.result) as Counts | null
  if (!counts || counts.confirmed === undefined) return null
  const { confirmed, waiting = 0, down = 0 } = counts
  const cells = step.confirmations
    ? step.confirmations.gateways.map(
        ({ gateway_id, gateway_name, state, confirmed_at }): Cell => ({
          ...{ id: gateway_id, name: gateway_name },
          state: state === 'down' ? 'down' : confirmed_at ? 'confirmed' : 'not yet',
        }),
      )
    : afterwards(gateways ?? [], confirmed, waiting, down)
  const label = `${confirmed} of ${confirmed + waiting} gateways confirmed${down > 0 ? `, ${down} down` : ''}`
  return (
    <div className="confirm">
      <span className="big num">
        {confirmed} <small>of {confirmed + waiting} confirmed</small>
      </span>
      {cells.length > 0 && (
        <CellStrip
          label={label}
          cells={cells.map(({ id, name, state }) => ({ id, state: marks[state], label: `${name}: ${state}` }))}
        />
      )}
      {down > 0 && (
        <p className="soft xs">
          {down === 1 ? 'One gateway is' : `${down} gateways are`} down and not waited for: it learns of it before it
          serves again.
        </p>
      )}
    </div>
  )
}

/**
 * The result of the step has figures only. Where all of the reachable gateways confirmed, each of them did; otherwise
 * nobody knows which, and none is shown.
 */
function afterwards(gateways: readonly Gateway[], confirmed: number, waiting: number, down: number): Cell[] {
  const shown = gateways.filter((gateway) => isReachable(gateway) || gateway.status === 'down')
  const reachable = shown.filter(isReachable).length
  if (waiting > 0 || reachable !== confirmed || shown.length - reachable !== down) return []
  return shown.map(
    (gateway): Cell => ({
      ...{ id: gateway.gateway_id, name: gateway.name },
      state: isReachable(gateway) ? 'confirmed' : 'down',
    }),
  )
}
