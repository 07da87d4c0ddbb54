import { useApi } from '../../api/use-api.ts'
import { textOf } from '../../policy/text.ts'
import { SidePanel, type Walk } from '../../table/side-panel.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { formatCount, formatNumber, shortDigest } from '../../ui/format.ts'
import { KeyValues } from '../../ui/key-values.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import type { MenuItem } from '../../ui/menu-popover.tsx'
import { Note } from '../../ui/note.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { ChannelOf } from '../policy/versions-card.tsx'
import {
  audienceOf,
  changesOf,
  gateWords,
  impactOf,
  testsOf,
  type Version,
  type VersionDetail,
} from '../policy/words.ts'

type Props = Walk & {
  menuOf: (version: Version) => readonly MenuItem[]
  /** Address of the comparison with the version before it. */
  compareOf: (version: Version) => string
}

/** Published version beside the history: author, note, tests, impact and document. */
export function VersionPanel({ menuOf, compareOf, ...walk }: Props) {
  const query = useApi('GET /v1/admin/policy/{bundle_id}', { params: { bundle_id: walk.id } })
  const version = query.data
  return (
    <SidePanel
      {...walk}
      noun="version"
      name={version && `v${version.version}`}
      icon="policy"
      facts={version && <ChannelOf version={version} />}
      actions={
        version && (
          <div className="row wrap">
            <ButtonLink size="sm" to={compareOf(version)}>
              Compare
            </ButtonLink>
            <span className="grow" />
            <MenuButton label={`More actions for v${version.version}`} items={menuOf(version)} />
          </div>
        )
      }
    >
      <QueryView query={query} what="this version">
        {(shown) => (
          <div className="body">
            <Facts version={shown} />
            <Tests tests={shown.tests} />
            <Content version={shown} />
          </div>
        )}
      </QueryView>
    </SidePanel>
  )
}

function Facts({ version }: { version: VersionDetail }) {
  const { gate, impact, warnings, rollout, channel } = version
  return (
    <section className="sect">
      <p className="quote">{version.note || <span className="soft">No note.</span>}</p>
      <KeyValues
        rows={[
          ['Published', <Timestamp key="p" at={version.published_at} as="exact" />],
          ['By', version.published_by_name ?? version.published_by],
          channel === 'canary' && ['Went to', audienceOf(rollout)],
          ['Changes', changesOf(impact)],
          ['Impact', impactOf(impact)],
          ['Variants', version.current && formatNumber(version.variants)],
          gate !== null && [
            'Gate',
            <Status key="g" kind={gateWords[gate.state].kind}>
              {gateWords[gate.state].label}
            </Status>,
          ],
          ['Digest', <CopyId key="d" id={version.digest} short={shortDigest(version.digest)} />],
          ['Version', <CopyId key="i" id={version.bundle_id} />],
        ]}
      />
      {gate?.reason && gate.state !== 'watching' && <p className="soft">{gate.reason}.</p>}
      {warnings.map((warning) => (
        <Note key={warning} kind="warn" title={warning} />
      ))}
    </section>
  )
}

function Tests({ tests }: { tests: Version['tests'] }) {
  if (tests.results.length === 0) return null
  return (
    <section className="sect">
      <h3>Tests, {testsOf(tests)}</h3>
      <ul className="objects">
        {tests.results.slice(0, 50).map(({ name, passed }) => (
          <li key={name}>{passed ? <Status kind="ok">{name}</Status> : <Status kind="bad">{name}, failed</Status>}</li>
        ))}
        {tests.results.length > 50 && <li className="more">and {formatNumber(tests.results.length - 50)} more</li>}
      </ul>
    </section>
  )
}

/** Number of entries of each part of the document. */
function Content({ version: { policy } }: { version: VersionDetail }) {
  const rows = (['rules', 'resources', 'hosts', 'groups', 'posture_checks', 'tests'] as const).flatMap((part) => {
    const value = policy[part]
    const count = Array.isArray(value) ? value.length : Object.keys((value ?? {}) as object).length
    return count === 0 ? [] : [`${formatCount(count, names[part])}`]
  })
  return (
    <section className="sect">
      <h3>Document</h3>
      <p>
        {rows.join(', ')}. {formatNumber(textOf(policy).split('\n').length)} lines.
      </p>
    </section>
  )
}
const names = {
  rules: 'rule',
  resources: 'resource',
  hosts: 'host',
  groups: 'group',
  posture_checks: 'posture check',
  tests: 'test',
} as const
