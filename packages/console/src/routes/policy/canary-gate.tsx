import type { OutputOf } from '../../api/client.ts'
import { formatCount, formatNumber } from '../../ui/format.ts'
import { formatDuration } from '../../ui/format-time.ts'
import { Note } from '../../ui/note.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Mark, Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { useHealth } from './use-channels.ts'
import { type Gate, gateWords, type Version } from './words.ts'

type Health = OutputOf<'GET /v1/admin/policy/{bundle_id}/health'>
type Measure = Health['measures'][number]

const measureWords: Readonly<Record<Measure['measure'], string>> = {
  denials: 'Packets denied',
  failed_sessions: 'Failed sessions',
  posture_failures: 'Posture failures',
}
const minute = 60_000
/** Part of the allowed rise above which a measure is shown as close to it. */
const closeShare = 0.75

/** Health of the devices of a canary beside the others, and the state of its gate. */
export function CanaryGate({ version }: { version: Version }) {
  const query = useHealth(version)
  const { gate } = version
  return (
    <div className="sect">
      <div className="row between wrap">
        <h3>{gate ? 'Gate' : 'Health'}</h3>
        {gate && <GateState gate={gate} publishedAt={version.published_at} />}
      </div>
      <QueryView query={query} what="the health of the canary">
        {(health) => <Figures health={health} gate={gate} />}
      </QueryView>
      {gate ? (
        <Terms gate={gate} publishedAt={version.published_at} />
      ) : (
        <p className="soft xs">This canary has no gate. Nothing holds its promotion, and nothing rolls it back.</p>
      )}
    </div>
  )
}

function GateState({ gate, publishedAt }: { gate: Gate; publishedAt: string }) {
  const { label, kind } = gateWords[gate.state]
  const left = Math.ceil((passesAt(gate, publishedAt) - Date.now()) / minute) * 60
  return (
    <Status kind={kind}>
      {label}
      {gate.state === 'watching' && left > 0 && `, ${formatDuration(left)} to go`}
    </Status>
  )
}

const passesAt = ({ observe_minutes }: Gate, publishedAt: string): number =>
  Date.parse(publishedAt) + observe_minutes * minute

function Figures({ health: { canary, stable, measures }, gate }: { health: Health; gate: Gate | null }) {
  if (!canary || !stable) return <p className="soft">No figures yet.</p>
  return (
    <>
      <div className="tw">
        <table className="t gate">
          <thead>
            <tr>
              <th scope="col">Devices with problems</th>
              <th scope="col" className="n">
                Canary
              </th>
              <th scope="col" className="n p2">
                Stable
              </th>
              <th scope="col" className="n">
                Rise
              </th>
              <th scope="col" className="n p3">
                p
              </th>
              {gate && (
                <th scope="col" className="n">
                  <span className="vh">Verdict</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {measures.map((measure) => (
              <MeasureRow
                key={measure.measure}
                measure={measure}
                allowed={gate?.max_rise_percent[measure.measure]}
                isFinal={gate?.state === 'failed' || gate?.state === 'rolled_back'}
              />
            ))}
          </tbody>
        </table>
      </div>
      <p className="soft xs">
        {formatCount(canary.devices, 'device')} on canary and {formatNumber(stable.devices)} on stable reported.
      </p>
    </>
  )
}

type RowProps = { measure: Measure; allowed: number | undefined; isFinal: boolean }

function MeasureRow({ measure: { measure, canary_percent, stable_percent, p_value }, allowed, isFinal }: RowProps) {
  const rise = Math.max(canary_percent - stable_percent, 0)
  return (
    <tr>
      <th scope="row">{measureWords[measure]}</th>
      <td className="n">{formatNumber(canary_percent)} %</td>
      <td className="n soft p2">{formatNumber(stable_percent)} %</td>
      <td className="n">
        {formatNumber(rise)} {allowed !== undefined && <span className="faint p3">of {formatNumber(allowed)}</span>}
      </td>
      <td className="n soft p3">{p_value.toPrecision(2)}</td>
      {allowed !== undefined && (
        <td className="n">
          <Verdict rise={rise} allowed={allowed} isFinal={isFinal} />
        </td>
      )}
    </tr>
  )
}

/** A rise above the limit fails the gate only if chance does not explain it, so it is a warning until then. */
function Verdict({ rise, allowed, isFinal }: { rise: number; allowed: number; isFinal: boolean }) {
  const [kind, label]: [Mark, string] =
    rise > allowed
      ? [isFinal ? 'bad' : 'warn', 'above']
      : rise > allowed * closeShare
        ? ['warn', 'close']
        : ['ok', 'within']
  return (
    <Status kind={kind}>
      <span className="p2">{label}</span>
    </Status>
  )
}

/** Explains the next step of the gate, or its verdict. */
function Terms({ gate, publishedAt }: { gate: Gate; publishedAt: string }) {
  if (gate.state === 'failed')
    return (
      <Note kind="bad" title={gate.reason === null ? 'The gate has failed.' : `${gate.reason}.`}>
        The canary still reaches its devices. End it, or publish a corrected canary.
      </Note>
    )
  if (gate.state === 'rolled_back')
    return (
      <Note kind="bad" title={gate.reason === null ? 'The gate has failed.' : `${gate.reason}.`}>
        The stable version was published again, and reaches all devices.
      </Note>
    )
  const consequence =
    gate.on_failure === 'rollback'
      ? 'If a measure rises by more, and chance does not explain it, the stable version goes back to all devices.'
      : 'If a measure rises by more, and chance does not explain it, the canary stays and cannot be promoted.'
  const isOver = passesAt(gate, publishedAt) < Date.now()
  return (
    <p className="soft xs">
      {gate.state === 'passed' ? (
        <>Passed. The gate watches on until the canary ends. {consequence}</>
      ) : isOver ? (
        <>
          {gate.reason === null ? 'The next check follows within a minute.' : `Not passed yet: ${gate.reason}.`}{' '}
          {consequence}
        </>
      ) : (
        <>
          Passes at <Timestamp at={new Date(passesAt(gate, publishedAt)).toISOString()} as="clock" /> if no measure
          rises above its limit. {consequence}
        </>
      )}
    </p>
  )
}
