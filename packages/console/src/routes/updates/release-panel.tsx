import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { PanelMoves, useFocusWhenOpened } from '../../table/panel-parts.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { formatCount, formatNumber, formatWord } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { IconButton } from '../../ui/icon-button.tsx'
import { KeyValues } from '../../ui/key-values.tsx'
import { MenuButton, type MenuItem } from '../../ui/menu.tsx'
import { Note } from '../../ui/note.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Bullet } from '../../ui/progress.tsx'
import { SkeletonRows } from '../../ui/skeleton.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { PackagesSection } from './packages-section.tsx'
import { ReleaseStatus, type VersionCounts } from './spec.tsx'
import { deedsOf, deedWords, type Release, type ReleaseDeed } from './words.ts'

type Props = {
  releaseId: string
  ids: readonly string[]
  counts: VersionCounts
  menuOf: (release: Release) => readonly MenuItem[]
  onDeed: (release: Release, deed: ReleaseDeed) => void
  onMove: (id: string) => void
  onClose: () => void
}

/** One release beside the list: what it says, to whom it is offered, its packages. */
export function ReleasePanel({ releaseId, ids, counts, menuOf, onDeed, onMove, onClose }: Props) {
  const query = useApi('GET /v1/admin/updates/releases/{release_id}', { params: { release_id: releaseId } })
  const release = query.data
  const panel = useFocusWhenOpened()
  return (
    <aside className="panel" aria-label={`Release ${release?.version ?? ''}`} ref={panel} tabIndex={-1}>
      <header>
        <div className="row between">
          <div className="row">
            <Icon name="download" />
            <h2 className="trunc">{release?.version ?? '…'}</h2>
            {release && <Badge kind={release.channel === 'canary' ? 'info' : 'plain'}>{release.channel}</Badge>}
          </div>
          <div className="row tight">
            <PanelMoves noun="release" id={releaseId} ids={ids} onMove={onMove} />
            <IconButton icon="x" label="Close panel" onClick={onClose} />
          </div>
        </div>
        {release && <Actions release={release} menu={menuOf(release)} onDeed={onDeed} />}
      </header>
      {query.error && (
        <Problem error={query.error} retry={query.refetch} what="this release" asOf={release && query.dataUpdatedAt} />
      )}
      {!release && !query.error && <SkeletonRows columns={2} />}
      {release && (
        <div className="body">
          <Facts release={release} devices={counts?.get(release.version) ?? (counts ? 0 : undefined)} />
          <PackagesSection key={release.release_id} release={release} />
        </div>
      )}
    </aside>
  )
}

type ActionsProps = { release: Release; menu: readonly MenuItem[]; onDeed: Props['onDeed'] }

/** The first two deeds as buttons, all of them in the menu. */
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

/** Why a deed is off, or undefined. */
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
      <Bullet share={rollout.percent / 100} label={`Offered to ${formatNumber(rollout.percent)} % of devices`} />
      <KeyValues
        rows={[
          [
            release.status === 'draft' ? 'Will go to' : 'Offered to',
            `${formatNumber(rollout.percent)} % of devices${groups > 0 ? ` and ${formatCount(groups, 'group')}` : ''}`,
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
