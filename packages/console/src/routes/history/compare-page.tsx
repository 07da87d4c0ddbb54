import { useApi } from '../../api/use-api.ts'
import { useNavigation, useSearch } from '../../navigation.ts'
import { Differences } from '../../policy/differences.tsx'
import { Button } from '../../ui/button.tsx'
import { SelectField } from '../../ui/fields.tsx'
import { Frame } from '../../ui/frame.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import type { Version } from '../policy/words.ts'

/** Versions offered to choose from. An older one is reached from the history. */
const offered = 100

/** Part of B18: two versions, and what differs between them. */
export function Page() {
  const { from, to } = useSearch()
  const { change } = useNavigation()
  const versions = useApi('GET /v1/admin/policy', { query: { limit: offered } })
  const newest = versions.data?.items ?? []
  const toId = to ?? newest[0]?.bundle_id
  const [before, after] = [useVersion(from ?? baseOf(newest, toId)), useVersion(toId)]
  const error = versions.error ?? before.error ?? after.error
  const isAlone = versions.data !== undefined && newest.length < 2 && (from === undefined || to === undefined)
  return (
    <div className="page">
      <PageHead
        title={before.data && after.data ? `Compare v${before.data.version} with v${after.data.version}` : 'Compare'}
        crumbs={[
          { to: '/admin/policy', label: 'Policy' },
          { to: '/admin/policy/history', label: 'History' },
        ]}
        actions={
          before.data &&
          after.data && (
            <Button
              kind="ghost"
              icon="updown"
              onClick={() => change({ from: after.data?.bundle_id, to: before.data?.bundle_id })}
            >
              Swap
            </Button>
          )
        }
      />
      {error && <Problem error={error} retry={() => retry(versions, before, after)} what="the versions" />}
      {isAlone ? (
        <p className="soft">A comparison needs two published versions.</p>
      ) : (
        <>
          <div className="duo">
            <Choice label="From" version={before.data} among={newest} onChange={(id) => change({ from: id })} />
            <Choice label="To" version={after.data} among={newest} onChange={(id) => change({ to: id })} />
          </div>
          {before.data && after.data ? (
            <Differences
              key={`${before.data.bundle_id} ${after.data.bundle_id}`}
              before={before.data.policy}
              after={after.data.policy}
              label={`Text of v${before.data.version} and v${after.data.version}`}
            />
          ) : (
            !error && (
              <Frame title="What changes">
                <SkeletonLines />
              </Frame>
            )
          )}
        </>
      )}
    </div>
  )
}

/** Version to compare with if the address names none: the one that stable delivers, or the newest other one. */
function baseOf(versions: readonly Version[], toId: string | undefined): string | undefined {
  const others = versions.filter(({ bundle_id }) => bundle_id !== toId)
  return (others.find(({ channel, current }) => channel === 'stable' && current) ?? others[0])?.bundle_id
}

const useVersion = (id: string | undefined) =>
  useApi('GET /v1/admin/policy/{bundle_id}', { params: { bundle_id: id ?? '' } }, { enabled: id !== undefined })

const retry = (...queries: readonly { error: unknown; refetch: () => unknown }[]) =>
  Promise.all(queries.filter(({ error }) => error).map((query) => query.refetch()))

type ChoiceProps = {
  label: string
  version: Version | undefined
  among: readonly Version[]
  onChange: (id: string) => void
}

function Choice({ label, version, among, onChange }: ChoiceProps) {
  const isOlder = version && !among.some(({ bundle_id }) => bundle_id === version.bundle_id)
  return (
    <SelectField
      label={label}
      options={[...among, ...(isOlder ? [version] : [])].map((one) => ({
        value: one.bundle_id,
        label: `v${one.version} ${one.channel}${one.note === '' ? '' : ` · ${one.note}`}`,
      }))}
      value={version?.bundle_id ?? ''}
      onChange={onChange}
    />
  )
}
