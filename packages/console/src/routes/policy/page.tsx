import { Suspense, useState } from 'react'
import { useOffReason } from '../../api/me.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { FirstRun } from '../../ui/empty-state.tsx'
import { lazily } from '../../ui/lazy.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { AdoptionCard } from './adoption-card.tsx'
import { CanaryGate } from './canary-gate.tsx'
import { ChannelCard } from './channel-card.tsx'
import type { Channels, Deed } from './deeds.ts'
import { PendingList } from './pending-list.tsx'
import { areSettled, useChannels, useGatewaysOf, useHealth } from './use-channels.ts'
import { VersionsCard } from './versions-card.tsx'
import { audienceOf, gateReason, type Version } from './words.ts'

const confirm = lazily(() => import('./confirm-deed.tsx').then((module) => module.ConfirmDeed))
const rollout = lazily(() => import('./change-rollout.tsx').then((module) => module.ChangeRollout))
type Asked = Deed | { kind: 'rollout'; canary: Version }

/** B16: the versions that both channels deliver, their adoption, and the gate of the canary. */
export function Page() {
  const { stable: stableQuery, canary: canaryQuery, versions } = useChannels()
  const [stable, before] = stableQuery.data?.items ?? []
  const newest = canaryQuery.data?.items[0]
  const canary = newest?.current ? newest : undefined
  const channels: Channels = { stable, before, canary }
  const [asked, setAsked] = useState<Asked>()
  const close = () => setAsked(undefined)
  const isNew = versions.data?.items.length === 0
  const gateways = { canary: useGatewaysOf(canary), stable: useGatewaysOf(stable) }
  const health = useHealth(canary ?? (newest?.gate?.state === 'rolled_back' ? newest : undefined))
  const isSettled =
    areSettled(stableQuery, canaryQuery, versions, health) &&
    Object.values(gateways).every((one) => areSettled(one.gateways, one.pending))
  return (
    <div className="page">
      <PageHead
        title="Channels"
        sub={isSettled && stableQuery.data && canaryQuery.data && summaryOf(channels)}
        actions={
          <>
            <ButtonLink to="/admin/policy/what-if" kind="ghost">
              What-if
            </ButtonLink>
            <ButtonLink to="/admin/policy/edit" icon="edit">
              Edit draft
            </ButtonLink>
          </>
        }
      />
      {isNew ? (
        <NoPolicy />
      ) : !isSettled ? (
        <SkeletonLines />
      ) : (
        <>
          <div className="duo">
            <Canary
              query={canaryQuery}
              channels={channels}
              newest={newest}
              gateways={gateways.canary}
              onAsk={setAsked}
            />
            <Stable query={stableQuery} channels={channels} gateways={gateways.stable} onAsk={setAsked} />
          </div>
          {(canary ?? stable) && <AdoptionCard version={(canary ?? stable)!} />}
          <VersionsCard query={versions} />
        </>
      )}
      <Suspense>
        {asked?.kind === 'rollout' && <rollout.Component canary={asked.canary} onClose={close} />}
        {asked && asked.kind !== 'rollout' && <confirm.Component deed={asked} channels={channels} onClose={close} />}
      </Suspense>
    </div>
  )
}

const summaryOf = ({ stable, canary }: Channels): string =>
  [stable ? `stable v${stable.version}` : 'nothing on stable', canary ? `canary v${canary.version}` : 'no canary'].join(
    ' · ',
  )

const NoPolicy = () => (
  <FirstRun
    title="No policy yet"
    sentence="Devices reach nothing until a policy is published. Publish a document to stable, or first to a part of the devices on canary."
    command="holdfast policy publish policy.json --channel stable"
  />
)

type ChannelQuery = ReturnType<typeof useChannels>['stable']
type CardProps = {
  query: ChannelQuery
  channels: Channels
  gateways: ReturnType<typeof useGatewaysOf>
  onAsk: (asked: Asked) => void
}

function Canary({ query, channels, newest, gateways, onAsk }: CardProps & { newest: Version | undefined }) {
  const { canary, stable } = channels
  return (
    <ChannelCard
      title="Canary"
      query={query}
      version={canary}
      before={stable}
      goesTo={canary && audienceOf(canary.rollout)}
      gateways={gateways}
      empty={<NoCanary last={newest} />}
      footer={canary && <CanaryActions canary={canary} stable={stable} onAsk={onAsk} />}
    >
      {canary && <CanaryGate version={canary} />}
    </ChannelCard>
  )
}

/** Explains why no canary is active. A canary that its gate rolled back shows its figures. */
const NoCanary = ({ last }: { last: Version | undefined }) => (
  <>
    <p className="soft">
      No canary is active: all devices get stable. Publish a document to canary to try it on a part of the devices.
    </p>
    {last?.gate?.state === 'rolled_back' && (
      <>
        <p>The last canary was v{last.version}.</p>
        <CanaryGate version={last} />
      </>
    )}
  </>
)

type ActionsProps = { canary: Version; stable: Version | undefined; onAsk: (asked: Asked) => void }

function CanaryActions({ canary, stable, onAsk }: ActionsProps) {
  const off = useOffReason()('policy:publish')
  const held = gateReason(canary.gate)
  return (
    <>
      <Button
        kind="primary"
        offReason={off ?? held}
        onClick={() => onAsk({ kind: 'promote', canary, isOverride: false })}
      >
        Promote to stable
      </Button>
      <Button offReason={off} onClick={() => onAsk({ kind: 'rollout', canary })}>
        Change rollout…
      </Button>
      <Button
        offReason={off ?? (stable ? undefined : 'Stable has no version to go back to.')}
        onClick={() => onAsk({ kind: 'end_canary', canary })}
      >
        End canary
      </Button>
      {held !== undefined && (
        <>
          <span>{held}</span>
          <Button
            kind="ghost"
            size="sm"
            offReason={off}
            onClick={() => onAsk({ kind: 'promote', canary, isOverride: true })}
          >
            Override…
          </Button>
        </>
      )}
    </>
  )
}

function Stable({ query, channels, gateways, onAsk }: CardProps) {
  const { stable, before, canary } = channels
  const off = useOffReason()('policy:publish')
  const footer = before && (
    <>
      <Button icon="undo" offReason={off} onClick={() => onAsk({ kind: 'roll_back', to: before })}>
        Roll back to v{before.version}…
      </Button>
      <span>Publishes the document of v{before.version} as a new version.</span>
    </>
  )
  return (
    <ChannelCard
      title="Stable"
      query={query}
      version={stable}
      before={before}
      goesTo={canary ? 'all other devices' : 'all devices'}
      gateways={gateways}
      empty={<p className="soft">Nothing is published to stable. Devices outside the canary reach nothing.</p>}
      footer={footer}
    >
      {gateways.mayRead && <PendingList pending={gateways.pending} />}
    </ChannelCard>
  )
}
