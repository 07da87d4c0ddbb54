import type { OutputOf } from '../../api/client.ts'
import { CellStrip } from '../../ui/cell-strip.tsx'
import { type Gateway, isReachable } from './lost-device-preview.tsx'

type Step = OutputOf<'GET /v1/admin/workflows/runs/{workflow_run_id}'>['steps'][number]
type Counts = { confirmed: number; waiting: number; down: number }
type State = 'confirmed' | 'not yet' | 'down'
type Cell = { id: string; name: string; state: State }
const marks = { confirmed: 'ok', 'not yet': 'wait', down: 'bad' } as const

/**
 * The gateways that have confirmed, that are waited for and that are down; undefined before the step begins. The result
 * of a finished step names the unreachable gateways instead.
 */
export function confirmationsOf({ confirmations, result }: Step): Counts | undefined {
  if (confirmations) return confirmations
  const { confirmed, unreachable } = (result ?? {}) as { confirmed?: unknown; unreachable?: unknown }
  if (typeof confirmed !== 'number') return undefined
  return { confirmed, waiting: 0, down: Array.isArray(unreachable) ? unreachable.length : 0 }
}

/** "9 of 10 confirmed", with one cell for each gateway. */
export function Confirmations({ step, gateways }: { step: Step; gateways: readonly Gateway[] | undefined }) {
  const counts = confirmationsOf(step)
  if (!counts) return null
  const { confirmed, waiting, down } = counts
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
      {confirmed + waiting > 0 && (
        <span className="big num">
          {confirmed} <small>of {confirmed + waiting} confirmed</small>
        </span>
      )}
      {confirmed + waiting + down === 0 && <p className="soft xs">No gateway runs, so none had to confirm.</p>}
      {cells.length > 0 && (
        <CellStrip
          label={label}
          cells={cells.map(({ id, name, state }) => ({ id, state: marks[state], label: `${name}: ${state}` }))}
        />
      )}
      {down > 0 && (
        <p className="soft xs">
          {down === 1
            ? 'One gateway is down. It applies the change before it serves again.'
            : `${down} gateways are down. They apply the change before they serve again.`}
        </p>
      )}
    </div>
  )
}

/**
 * The cells after the step, whose result counts the gateways and does not name them. They are shown where the counts are
 * those of the gateways now: then each reachable one has confirmed.
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
