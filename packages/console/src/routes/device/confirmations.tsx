import type { OutputOf } from '../../api/client.ts'
import { CellStrip } from '../../ui/cell-strip.tsx'
import type { Gateway } from './lost-device-preview.tsx'

type Step = OutputOf<'GET /v1/admin/workflows/runs/{workflow_run_id}'>['steps'][number]
type Cell = { id: string; name: string; state: keyof typeof marks }
type Confirmation = { confirmed: number; waiting: number; unreachable: number; cells: readonly Cell[] }
const marks = { confirmed: 'ok', 'not yet': 'wait', 'not reachable': 'bad' } as const

/**
 * Returns the gateways that have confirmed, that are pending and that are unreachable; undefined before the step
 * starts. The result of a finished step names only the unreachable gateways. The others count as confirmed if the
 * number of gateways has not changed.
 *
 * @param gateways current gateways of the tenant
 */
export function confirmationOf(step: Step, gateways: readonly Gateway[] = []): Confirmation | undefined {
  if (step.confirmations) {
    const { confirmed, waiting, down: unreachable } = step.confirmations
    const cells = step.confirmations.gateways.map(
      ({ gateway_id: id, gateway_name: name, state, confirmed_at }): Cell => ({
        id,
        name,
        state: confirmed_at ? 'confirmed' : state === 'down' ? 'not reachable' : 'not yet',
      }),
    )
    return { confirmed, waiting, unreachable, cells }
  }
  const { confirmed, unreachable = [] } = (step.result ?? {}) as { confirmed?: number; unreachable?: string[] }
  if (confirmed === undefined) return undefined
  const missing = new Set(unreachable)
  const cells = gateways.map(
    ({ gateway_id: id, name }): Cell => ({ id, name, state: missing.has(id) ? 'not reachable' : 'confirmed' }),
  )
  const isSame = gateways.length === confirmed + missing.size
  return { confirmed, waiting: 0, unreachable: missing.size, cells: isSame ? cells : [] }
}

/** "9 of 10 confirmed", with one cell for each gateway. */
export function Confirmations({ step, gateways }: { step: Step; gateways: readonly Gateway[] | undefined }) {
  const found = confirmationOf(step, gateways)
  if (!found) return null
  const { confirmed, waiting, unreachable, cells } = found
  const reachable = confirmed + waiting
  const label = `${confirmed} of ${reachable} gateways confirmed${unreachable > 0 ? `, ${unreachable} not reachable` : ''}`
  return (
    <div className="confirm">
      {reachable > 0 && (
        <span className="big num">
          {confirmed} <small>of {reachable} confirmed</small>
        </span>
      )}
      {reachable + unreachable === 0 && <p className="soft xs">No gateway runs, so none had to confirm.</p>}
      {cells.length > 0 && (
        <CellStrip
          label={label}
          cells={cells.map(({ id, name, state }) => ({ id, state: marks[state], label: `${name}: ${state}` }))}
        />
      )}
      {unreachable > 0 && (
        <p className="soft xs">
          {unreachable === 1
            ? 'One gateway is not reachable. It applies the change before it serves.'
            : `${unreachable} gateways are not reachable. They apply the change before they serve.`}
        </p>
      )}
    </div>
  )
}
