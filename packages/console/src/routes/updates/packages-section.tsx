import { useState } from 'react'
import { call } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { formatBytes, formatWord } from '../../ui/format.ts'
import { IconButton } from '../../ui/icon-button.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { toast } from '../../ui/toast.tsx'
import { refreshReleases } from './move-release.ts'
import { UploadForm } from './upload-form.tsx'
import type { Package, Release } from './words.ts'

const most = 50

/** Files of a release; only those of a draft can be changed. */
export function PackagesSection({ release }: { release: Release }) {
  const off = useOffReason()
  const query = useApi('GET /v1/admin/updates/releases/{release_id}/packages', {
    params: { release_id: release.release_id },
    query: { limit: most },
  })
  const isDraft = release.status === 'draft'
  const offReason = off('updates:write')
  return (
    <section className="sect">
      <h3>Packages</h3>
      {query.error && <Problem error={query.error} retry={query.refetch} what="the packages" />}
      {!query.data && !query.error && <SkeletonLines />}
      {query.data?.items.length === 0 && (
        <p className="soft">
          No package yet.{isDraft && ' A release needs one for each platform before it is published.'}
        </p>
      )}
      {query.data && query.data.items.length > 0 && (
        <ul className="packages">
          {query.data.items.map((each) => (
            <PackageRow key={each.package_id} each={each} release={release} canRemove={isDraft && !offReason} />
          ))}
        </ul>
      )}
      {isDraft && (offReason ? <p className="soft xs">{offReason}</p> : <UploadForm release={release} />)}
      {!isDraft && <p className="soft xs">Packages are fixed once a release is published.</p>}
    </section>
  )
}

type RowProps = { each: Package; release: Release; canRemove: boolean }

function PackageRow({ each, release, canRemove }: RowProps) {
  const [error, setError] = useState<Error>()
  const remove = async () => {
    try {
      expectOwnChange('updates')
      const params = { release_id: release.release_id, package_id: each.package_id }
      await call('DELETE /v1/admin/updates/releases/{release_id}/packages/{package_id}', { params })
      toast({ title: `${each.filename} removed from ${release.version}` })
      await refreshReleases()
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <li>
      <div className="row between">
        <span>
          {formatWord(each.platform)} <span className="soft">{each.arch}</span>
        </span>
        <span className="row tight">
          <span className="num soft">{formatBytes(each.size)}</span>
          {canRemove && <IconButton icon="x" label={`Remove ${each.filename}`} onClick={remove} />}
        </span>
      </div>
      <div className="row between xs">
        <span className="mono soft trunc">{each.filename}</span>
        <CopyId id={each.sha256} short={`sha256 ${each.sha256.slice(0, 8)}`} />
      </div>
      {error && <ChangeProblem error={error} />}
    </li>
  )
}
