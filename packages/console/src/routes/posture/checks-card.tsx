import { formatCount, formatNumber } from '../../ui/format.ts'
import { formatDuration } from '../../ui/format-time.ts'
import { Frame } from '../../ui/frame.tsx'
import { NoPermission } from '../../ui/problem.tsx'
import { platformWords } from '../devices/words.ts'
import { Card } from '../home/card.tsx'
import type { Check, useChecks } from './use-checks.ts'
import type { Offenders } from './use-offenders.ts'

const most = 12
const defaultFreshness = 3600

type Props = { checks: ReturnType<typeof useChecks>; offenders: Offenders }

/**
 * Checks of the policy, and the number of examined devices that fail each. The API has no count of a check over all
 * devices.
 */
export function ChecksCard({ checks, offenders }: Props) {
  if (!checks.mayRead)
    return (
      <Frame title="Checks" className="c6">
        <NoPermission what="the checks of the policy" permission="policy:read" />
      </Frame>
    )
  const examined = offenders.rows.filter((row) => row.posture).length
  return (
    <Card
      title="Checks"
      what="the checks of the policy"
      query={checks}
      className="c6"
      inset="flush"
      aside={checks.data?.version !== undefined && <span className="soft xs">stable v{checks.data.version}</span>}
      footer={
        examined > 0 && (
          <span>Failures are those of the {formatCount(examined, 'failing device')} below, not of all devices.</span>
        )
      }
    >
      {({ checks: all }) =>
        all.length === 0 ? (
          <p className="soft in">The policy has no posture checks. Every device that reports counts as compliant.</p>
        ) : (
          <table className="mini">
            <thead>
              <tr>
                <th scope="col">Check</th>
                <th scope="col">Wants</th>
                <th scope="col" className="n">
                  Rules
                </th>
                <th scope="col" className="n">
                  {examined > 0 ? `Fail, of ${examined}` : 'Fail'}
                </th>
              </tr>
            </thead>
            <tbody>
              {all.slice(0, most).map((check) => (
                <CheckRow
                  key={check.id}
                  check={check}
                  failing={examined > 0 ? offenders.failing(check.id) : undefined}
                />
              ))}
            </tbody>
          </table>
        )
      }
    </Card>
  )
}

function CheckRow({ check, failing }: { check: Check; failing: number | undefined }) {
  const { enforcement = 'enforce', severity = 'medium', freshness_seconds = defaultFreshness, platforms } = check
  const of = platforms?.map((platform) => platformWords[platform]).join(', ')
  return (
    <tr>
      <th scope="row">
        {check.id}
        <small>
          {severity} · {enforcement}
        </small>
      </th>
      <td>
        <code className="wrapit">{check.expression}</code>
        <small className="soft">
          {of && `${of} · `}report of the last {formatDuration(freshness_seconds)}
        </small>
      </td>
      <td className="n">{formatNumber(check.rules)}</td>
      <td className="n">
        {failing === undefined ? (
          <span className="faint">–</span>
        ) : failing > 0 ? (
          <b className="strong">{failing}</b>
        ) : (
          0
        )}
      </td>
    </tr>
  )
}
