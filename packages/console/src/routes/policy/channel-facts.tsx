import type { ReactNode } from 'react'
import { AppLink } from '../../ui/app-link.tsx'
import { Badge } from '../../ui/badge.tsx'
import { CellStrip } from '../../ui/cell-strip.tsx'
import { formatCount, formatNumber, formatPercent, shortDigest } from '../../ui/format.ts'
import { KeyValues } from '../../ui/key-values.tsx'
import { Bullet } from '../../ui/progress.tsx'
import { Status } from '../../ui/status.tsx'
import type { useGatewaysOf } from './use-channels.ts'
import { changesOf, compareHref, impactOf, testsOf, type Version } from './words.ts'

/** Number and digest of a version, beside the name of its channel. */
export const VersionMark = ({ version, isCanary }: { version: Version; isCanary: boolean }) => (
  <>
    <Badge kind={isCanary ? 'info' : undefined}>v{version.version}</Badge>{' '}
    <span className="mono soft">{shortDigest(version.digest)}</span>
  </>
)

type Props = {
  version: Version
  /** Version that the changes are compared with. */
  before: Version | undefined
  goesTo: ReactNode
  gateways: ReturnType<typeof useGatewaysOf>
}

/** Note, audience, adoption, tests and impact of the version of a channel. */
export function ChannelFacts({ version, before, goesTo, gateways }: Props) {
  const { applied, pending } = version.adoption
  const failed = version.tests.failed
  return (
    <>
      <p className="quote">
        {version.note === '' ? <span className="soft">No note.</span> : version.note}{' '}
        {version.published_by_name !== null && <span className="soft">— {version.published_by_name}</span>}
      </p>
      <KeyValues
        rows={[
          ['Goes to', goesTo],
          ['Devices', <Applied key="d" applied={applied} all={applied + pending} version={version} />],
          gateways.mayRead && ['Gateways', <GatewayCells key="g" gateways={gateways} version={version} />],
          [
            'Tests',
            failed > 0 ? (
              <Status key="t" kind="bad">
                {testsOf(version.tests)}
              </Status>
            ) : (
              testsOf(version.tests)
            ),
          ],
          [
            'Changes',
            <>
              {changesOf(version.impact)} {before && <AppLink to={compareHref(before, version)}>Compare</AppLink>}
            </>,
          ],
          ['Impact', impactOf(version.impact)],
          version.warnings.length > 0 && [
            'Warnings',
            version.warnings.map((warning) => <div key={warning}>{warning}</div>),
          ],
        ]}
      />
    </>
  )
}

function Applied({ applied, all, version }: { applied: number; all: number; version: Version }) {
  if (all === 0) return 'none yet'
  const share = applied / all
  return (
    <>
      <span className="num">
        {formatNumber(applied)} of {formatNumber(all)} applied
      </span>{' '}
      <Bullet
        share={share}
        fill={version.channel === 'stable' ? 'bxok' : 'bx1'}
        label={`${formatPercent(share)} of devices have applied version ${version.version}`}
      />
    </>
  )
}

function GatewayCells({ gateways, version }: { gateways: Props['gateways']; version: Version }) {
  const items = gateways.gateways.data?.items
  const pending = gateways.pending.data?.items
  if (items === undefined || pending === undefined) {
    const isFailed = gateways.gateways.error !== null || gateways.pending.error !== null
    return isFailed ? <span className="soft">could not be read</span> : <span className="skel">&nbsp;</span>
  }
  if (items.length === 0) return 'none yet'
  const waiting = new Set(pending.map(({ id }) => id))
  const hasApplied = (gateway: (typeof items)[number]) =>
    gateway.last_seen_at !== null && !waiting.has(gateway.gateway_id)
  const applied = items.filter(hasApplied).length
  const first = gateways.gateways.data?.next_cursor ? 'the first ' : ''
  const sum = `${formatNumber(applied)} of ${first}${formatCount(items.length, 'gateway')}`
  return (
    <>
      <span className="num">{sum.replace(/ gateways?$/, '')} applied</span>
      <div className="up2">
        <CellStrip
          label={`${sum} apply version ${version.version}`}
          cells={items.map((gateway) => ({
            id: gateway.gateway_id,
            state: hasApplied(gateway) ? (version.channel === 'canary' ? 'accent' : 'ok') : 'wait',
            label: `${gateway.name}: ${hasApplied(gateway) ? 'applied' : gateway.last_seen_at === null ? 'never connected' : 'not yet applied'}`,
          }))}
        />
      </div>
    </>
  )
}
