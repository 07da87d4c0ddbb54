import { Suspense, useCallback, useMemo, useState } from 'react'
import { useCan, useOffReason } from '../../api/me.ts'
import { useListPage, useListState } from '../../table/list-state.ts'
import { ListView } from '../../table/list-view.tsx'
import { Button } from '../../ui/button.tsx'
import { copyCommandItem } from '../../ui/copy-command.ts'
import { FirstRun } from '../../ui/empty-state.tsx'
import { lazily } from '../../ui/lazy.tsx'
import type { MenuItem } from '../../ui/menu-popover.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { AdoptionCards } from './adoption-card.tsx'
import { deedOffReason, ReleasePanel } from './release-panel.tsx'
import { releasesSpec } from './spec.tsx'
import { useFleet } from './use-fleet.ts'
import { deedsOf, deedWords, type Release, type ReleaseDeed } from './words.ts'

const filterNames = ['status', 'channel']
const defaultSort = '-created_at'
const none: readonly Release[] = []
const sheet = lazily(() => import('./new-release.tsx').then((module) => module.NewRelease))
const confirm = lazily(() => import('./confirm-deed.tsx').then((module) => module.ConfirmDeed))

/** B10: releases of the client, and their progress. */
export function Page() {
  const can = useCan()
  const state = useListState(filterNames, defaultSort)
  const query = useListPage('GET /v1/admin/updates/releases', state)
  const fleet = useFleet()
  const counts = useMemo(
    () => fleet.data && new Map(fleet.data.client_versions.map((v) => [v.client_version ?? '', v.devices])),
    [fleet.data],
  )
  const releases = query.data?.items ?? none
  const [isCreating, setCreating] = useState(false)
  const [asked, setAsked] = useState<{ release: Release; deed: ReleaseDeed }>()
  const ask = useCallback((release: Release, deed: ReleaseDeed) => setAsked({ release, deed }), [])
  const menuOf = useReleaseMenu(ask)
  const mayCount = can('operations:read')
  const spec = useMemo(() => ({ ...releasesSpec(counts, mayCount), menuOf }), [counts, mayCount, menuOf])
  const create = <CreateButton onCreate={() => setCreating(true)} />
  return (
    <>
      <ListView
        spec={spec}
        state={state}
        query={query}
        hrefOf={(id) => `/admin/updates?open=${id}`}
        head={
          <>
            <PageHead
              title="Client updates"
              sub={query.data ? (summaryOf(releases) ?? 'none published') : null}
              actions={create}
            />
            {mayCount && state.open === undefined && <AdoptionCards query={fleet} />}
          </>
        }
        firstRun={<NoReleases action={create} />}
        panel={(walk) => <ReleasePanel {...walk} counts={counts} menuOf={menuOf} onDeed={ask} />}
      />
      <Suspense>
        {isCreating && (
          <sheet.Component
            onClose={() => setCreating(false)}
            onCreated={({ release_id }) => {
              setCreating(false)
              state.set({ open: release_id })
            }}
          />
        )}
        {asked && <confirm.Component {...asked} onClose={() => setAsked(undefined)} />}
      </Suspense>
    </>
  )
}

function CreateButton({ onCreate }: { onCreate: () => void }) {
  const off = useOffReason()
  return (
    <Button kind="primary" icon="plus" offReason={off('updates:write')} onClick={onCreate}>
      New release
    </Button>
  )
}

const NoReleases = ({ action }: { action: React.ReactNode }) => (
  <FirstRun
    title="No releases yet"
    sentence="A release holds one package for each platform. Create a draft, add the packages, and publish it to a share of the devices."
    action={action}
    command="holdfast release create 1.4.0"
  />
)

/** Returns the newest published version of each channel. */
function summaryOf(releases: readonly Release[]): string | undefined {
  const newest = (channel: Release['channel']) =>
    releases.find((release) => release.channel === channel && release.status === 'published')
  const words = (['stable', 'canary'] as const).flatMap((channel) => {
    const release = newest(channel)
    return release ? [`${channel} ${release.version}`] : []
  })
  return words.length === 0 ? undefined : words.join(' · ')
}

function useReleaseMenu(ask: (release: Release, deed: ReleaseDeed) => void) {
  const offReason = useOffReason()('updates:write')
  return useCallback(
    (release: Release): readonly MenuItem[] => {
      const deeds = deedsOf(release)
      const item = (deed: ReleaseDeed): MenuItem => ({
        id: deed,
        icon: deedWords[deed].icon,
        danger: deedWords[deed].isDanger,
        label: deed === 'roll_out' ? 'Set rollout…' : `${deedWords[deed].verb}…`,
        offReason: deedOffReason(release, deed, offReason),
        onSelect: () => ask(release, deed),
      })
      const dangerous = deeds.filter((deed) => deedWords[deed].isDanger)
      return [
        ...deeds.filter((deed) => !deedWords[deed].isDanger).map(item),
        copyItem(release),
        ...(dangerous.length > 0 ? (['line'] as const) : []),
        ...dangerous.map(item),
      ]
    },
    [offReason, ask],
  )
}

const copyItem = ({ version }: Release) => copyCommandItem(`holdfast release show ${version}`)
