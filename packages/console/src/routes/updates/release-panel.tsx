import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { SidePanel, type Walk } from '../../table/side-panel.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { formatCount, formatNumber, formatWord } from '../../ui/format.ts'
import { KeyValues } from '../../ui/key-values.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import type { MenuItem } from '../../ui/menu-popover.tsx'
import { Note } from '../../ui/note.tsx'
import { Bullet } from '../../ui/progress.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { PackagesSection } from './packages-section.tsx'
import { ReleaseStatus, type VersionCounts } from './spec.tsx'
import { audienceOf, deedsOf, deedWords, type Release, type ReleaseDeed } from './words.ts'

type Props = Walk & {
  counts: VersionCounts
  menuOf: (release: Release) => readonly MenuItem[]
  onDeed: (release: Release, deed: ReleaseDeed) => void
}

/** Release beside the list: its facts, rollout and packages. */
export function ReleasePanel({ counts, menuOf, onDeed, ...walk }: Props) {
  const query = useApi('GET /v1/admin/updates/releases/{release_id}', { params: { release_id: walk.id } })
  const release = query.data
  return (
    <SidePanel
      {...walk}
      noun="release"
      name={release?.version}
      icon="download"
      aside={release && <Badge kind={release.channel === 'canary' ? 'info' : 'plain'}>{release.channel}</Badge>}
      actions={release && <Actions release={release} menu={menuOf(release)} onDeed={onDeed} />}
    >
      <QueryView query={query} what="this release">
        {(shown) => (
          <div className="body">
            <Facts release={shown} devices={counts?.get(shown.version) ?? (counts ? 0 : undefined)} />
            <PackagesSection key={shown.release_id} release={shown} />
          </div>
        )}
      </QueryView>
    </SidePanel>
  )
}

type ActionsProps = { release: Release; menu: readonly MenuItem[]; onDeed: Props['onDeed'] }

/** First two actions as buttons, and all of them in the menu. */
function Actions({ release, menu, onDeed }: ActionsProps) {
  const off = useOffReason()
  const shown = deedsOf(release)
    .filter((deed) => !deedWords[deed].isDanger)
    .slice(0, 2)
  return (
    <div className="row wrap">
      <ReleaseStatus release={release} />
      <span className="grow" />
      {shown.map((deed, i) => (
        <Button
          key={deed}
          size="sm"
          {...(i === 0 && deed === 'publish' && { kind: 'primary' as const })}
          offReason={deedOffReason(release, deed, off('updates:write'))}
          onClick={() => onDeed(release, deed)}
        >
          {deed === 'roll_out' ? 'Set rollout…' : `${deedWords[deed].verb}…`}
        </Button>
      ))}
      <MenuButton label={`More actions for ${release.version}`} items={menu} />
    </div>
  )
}

/** Returns the reason why an action is off, or undefined. */
export function deedOffReason(release: Release, deed: ReleaseDeed, permission: string | undefined): string | undefined {
  if (permission) return permission
  return deed === 'publish' && release.packages === 0 ? 'Add a package first.' : undefined
}

function Facts({ release, devices }: { release: Release; devices: number | undefined }) {
  const { rollout } = release
  const groups = rollout.group_ids.length
  return (
    <section className="sect">
      {release.reason && (
        <Note
          kind={release.status === 'halted' ? 'bad' : 'warn'}
          title={`${formatWord(release.status)}: ${release.reason}`}
        />
      )}
      <h3>Rollout</h3>
      {release.status !== 'draft' && (
        <Bullet
          share={rollout.percent / 100}
          label={`Offered to ${formatNumber(rollout.percent)} % of ${audienceOf(release)}`}
        />
      )}
      <KeyValues
        rows={[
          [
            release.status === 'draft' ? 'Will go to' : 'Offered to',
            `${formatNumber(rollout.percent)} % of ${audienceOf(release)}${groups > 0 ? ` and ${formatCount(groups, 'group')}` : ''}`,
          ],
          devices !== undefined && [
            'Runs on',
            <AppLink key="d" to={`/admin/devices?client_version=${encodeURIComponent(release.version)}`}>
              {formatCount(devices, 'device')}
            </AppLink>,
          ],
          ['Severity', `${formatWord(release.severity)}${release.mandatory ? ', mandatory' : ''}`],
          ['Only from version', release.min_from_version],
          release.notes !== '' && [
            'Notes',
            <span key="n" className="prewrap">
              {release.notes}
            </span>,
          ],
          release.notes_url !== null && [
            'More',
            <a key="u" href={release.notes_url} rel="noreferrer" target="_blank">
              {release.notes_url}
            </a>,
          ],
          ['Created', <Timestamp key="c" at={release.created_at} />],
          ['Published', <Timestamp key="p" at={release.published_at} empty="not yet" />],
          release.promoted_at !== null && ['Promoted', <Timestamp key="m" at={release.promoted_at} />],
          ['Release', <CopyId key="i" id={release.release_id} />],
        ]}
      />
    </section>
  )
}
