import { useState } from 'react'
import { Legend } from '../../charts/legend.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { formatNumber } from '../../ui/format.ts'
import { StackBar } from '../../ui/progress.tsx'
import { Segment } from '../../ui/tabs.tsx'
import { platformWords } from '../devices/words.ts'
import { Card } from '../home/card.tsx'
import { devicesLink, type Split, splitBy, type useVerdicts } from './verdicts.ts'

const facets = [
  { value: 'platform', label: 'Platform' },
  { value: 'os_version', label: 'System version' },
] as const
type Facet = (typeof facets)[number]['value']
const most = 8

/** Compliance by platform and system, as one bar each. */
export function SplitCard({ verdicts }: { verdicts: ReturnType<typeof useVerdicts> }) {
  const [facet, setFacet] = useState<Facet>('platform')
  return (
    <Card
      title="By system"
      what="the counts"
      query={verdicts}
      className="c6"
      inset="flush"
      aside={<Segment label="Group by" options={facets} value={facet} onChange={setFacet} />}
      footer={
        <Legend
          entries={[
            { id: 'ok', swatch: 'ok', label: 'Compliant' },
            { id: 'bad', swatch: 'bad', label: 'Fails' },
            { id: 'none', swatch: 'none', label: 'Unknown' },
          ]}
        />
      }
    >
      {(data) => {
        const splits = splitBy(facet, data)
        return (
          <>
            <table className="mini">
              <thead>
                <tr>
                  <th scope="col">{facet === 'platform' ? 'Platform' : 'System version'}</th>
                  <th scope="col" className="bar-b">
                    Devices
                  </th>
                  <th scope="col" className="n">
                    Fails
                  </th>
                  <th scope="col" className="n">
                    Unknown
                  </th>
                </tr>
              </thead>
              <tbody>
                {splits.slice(0, most).map((split) => (
                  <SplitRow key={split.value} facet={facet} split={split} />
                ))}
              </tbody>
            </table>
            {splits.length > most && (
              <p className="soft xs in">And {formatNumber(splits.length - most)} more with fewer failing devices.</p>
            )}
          </>
        )
      }}
    </Card>
  )
}

function SplitRow({ facet, split: { value, compliant, fails, unknown } }: { facet: Facet; split: Split }) {
  const name =
    value === '' ? 'Not reported' : facet === 'platform' ? platformWords[value as keyof typeof platformWords] : value
  const sentence = `${name}: ${compliant} compliant, ${fails} fail, ${unknown} unknown`
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className="bar-b">
        <StackBar
          label={sentence}
          parts={[
            { value: compliant, fill: 'bxok' },
            { value: fails, fill: 'bxbad' },
            { value: unknown, fill: 'bxnone' },
          ]}
        />
      </td>
      <td className="n">
        <Count {...{ count: fails, name, value, facet }} posture="non_compliant" word="fail" />
      </td>
      <td className="n">
        <Count {...{ count: unknown, name, value, facet }} posture="unknown" word="unknown" />
      </td>
    </tr>
  )
}

type CountProps = { count: number; name: string; value: string; facet: Facet; posture: string; word: string }

/** Count with a link to its devices. A zero has no link. */
function Count({ count, name, value, facet, posture, word }: CountProps) {
  if (count === 0 || value === '')
    return <span className={count === 0 ? 'faint' : undefined}>{formatNumber(count)}</span>
  return (
    <AppLink
      to={devicesLink({ posture, [facet]: value })}
      aria-label={`${name}, ${word}: ${formatNumber(count)} devices`}
    >
      {formatNumber(count)}
    </AppLink>
  )
}
