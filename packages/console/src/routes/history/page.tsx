import { Suspense, useCallback, useMemo, useState } from 'react'
import { call } from '../../api/client.ts'
import { useOffReason } from '../../api/me.ts'
import { useNavigation } from '../../navigation.ts'
import { inReadingOrder, textOf } from '../../policy/text.ts'
import { useListPage, useListState } from '../../table/list-state.ts'
import { ListView } from '../../table/list-view.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { copyCommandItem } from '../../ui/copy-command.ts'
import { FirstRun } from '../../ui/empty-state.tsx'
import { lazily } from '../../ui/lazy.tsx'
import type { MenuItem } from '../../ui/menu-popover.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { useChannels } from '../policy/use-channels.ts'
import { compareHref, type Version } from '../policy/words.ts'
import { versionsSpec } from './spec.tsx'
import { VersionPanel } from './version-panel.tsx'

const confirm = lazily(() => import('../policy/confirm-deed.tsx').then((module) => module.ConfirmDeed))
const filterNames = ['channel']
const none: readonly Version[] = []

/** B18: every published version. */
export function Page() {
  const state = useListState(filterNames, versionsSpec.defaultSort)
  const query = useListPage('GET /v1/admin/policy', state)
  const { stable, canary } = useChannels()
  const current = stable.data?.items[0]
  const running = canary.data?.items[0]
  const [target, setTarget] = useState<Version>()
  const rows = query.data?.items ?? none
  const menuOf = useVersionMenu(current, running, setTarget)
  const spec = useMemo(() => ({ ...versionsSpec, menuOf }), [menuOf])
  return (
    <>
      <ListView
        spec={spec}
        state={state}
        query={query}
        hrefOf={(id) => `/admin/policy/history?open=${id}`}
        head={
          <PageHead
            title="History"
            sub={current ? `stable v${current.version}` : null}
            actions={
              <ButtonLink to="/admin/policy/compare" kind="ghost">
                Compare versions
              </ButtonLink>
            }
          />
        }
        firstRun={
          <FirstRun
            title="No versions yet"
            sentence="Each publication of the policy is kept here, with its author, its note and its document."
            command="holdfast policy publish policy.json --channel stable"
          />
        }
        panel={(walk) => (
          <VersionPanel {...walk} menuOf={menuOf} compareOf={(version) => compareOf(version, rows, current)} />
        )}
      />
      <Suspense>
        {target && (
          <confirm.Component
            deed={{ kind: 'roll_back', to: target }}
            channels={{ stable: current, canary: running?.current ? running : undefined }}
            onClose={() => setTarget(undefined)}
          />
        )}
      </Suspense>
    </>
  )
}

/** Compares with the version before it on its channel if the page has that one, otherwise with stable. */
function compareOf(version: Version, rows: readonly Version[], stable: Version | undefined): string {
  const before = rows
    .filter((row) => row.channel === version.channel && row.version < version.version)
    .sort((a, b) => b.version - a.version)[0]
  const base = version.channel === 'canary' ? stable : (before ?? stable)
  return base && base.bundle_id !== version.bundle_id
    ? compareHref(base, version)
    : `/admin/policy/compare?to=${version.bundle_id}`
}

function useVersionMenu(
  stable: Version | undefined,
  canary: Version | undefined,
  onRollBack: (version: Version) => void,
) {
  const off = useOffReason()('policy:publish')
  const { go } = useNavigation()
  return useCallback(
    (version: Version): readonly MenuItem[] => [
      ...(stable && stable.bundle_id !== version.bundle_id
        ? [
            {
              id: 'compare',
              icon: 'branch' as const,
              label: 'Compare with stable',
              onSelect: () => go(compareHref(version, stable)),
            },
          ]
        : []),
      { id: 'download', icon: 'download', label: 'Download document', onSelect: () => void download(version) },
      copyCommandItem(`holdfast policy show ${version.version}`),
      'line',
      {
        id: 'roll_back',
        icon: 'undo',
        label: `Roll back stable to v${version.version}…`,
        danger: true,
        offReason: off ?? rollBackReason(version, stable, canary),
        onSelect: () => onRollBack(version),
      },
    ],
    [stable, canary, off, go, onRollBack],
  )
}

/** Reason why a version cannot be published to stable again, or undefined. */
function rollBackReason(version: Version, stable: Version | undefined, canary: Version | undefined) {
  if (!stable) return 'Nothing is on stable.'
  if (canary?.current && canary.bundle_id === version.bundle_id) return 'It is the canary: promote it.'
  return stable.digest === version.digest ? 'Stable delivers this document already.' : undefined
}

async function download({ bundle_id, version }: Version): Promise<void> {
  const { policy } = await call('GET /v1/admin/policy/{bundle_id}', { params: { bundle_id } })
  saveFile(`policy-v${version}.json`, 'application/json', `${textOf(inReadingOrder(policy))}\n`)
}
