import type { PageQuery } from '../../../db/page.ts'
import { mapUniqueViolation } from '../../../db/unique-violation.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import type { UpdatesDeps } from '../deps.ts'
import { lockRepository } from '../repositories.queries.ts'
import type { Release, ReleaseFields, ReleaseRow } from './releases.queries.ts'
import * as queries from './releases.queries.ts'

export const noRelease = () => missing('release')
export const namesInRelease = (r: ReleaseRow) => ({
  release_id: encodeId('release', r.release_id),
  release_version: r.version,
})
export const releaseTarget = (r: ReleaseRow) => ({
  type: 'release',
  id: encodeId('release', r.release_id),
  name: r.version,
})
const defaults: ReleaseFields = {
  notes: '',
  notes_url: null,
  severity: 'normal',
  mandatory: false,
  min_from_version: null,
}
const notADraft = (status: ReleaseRow['status']) =>
  fail('validation_error', `the release is ${status}: only a draft can be changed`)

/** Releases as drafts: their content until they are published. */
export function createReleaseRules({ db, audit, pager, now }: Pick<UpdatesDeps, 'db' | 'audit' | 'pager' | 'now'>) {
  return {
    list: (tenant: TenantId, query: PageQuery & { channel?: ReleaseRow['channel']; status?: ReleaseRow['status'] }) =>
      db.inTenant(tenant, (tx) =>
        pager.list(queries.selectReleases(tx, tenant, query), {
          operation: 'listReleases',
          tenant,
          query,
          orders: { created_at: { column: 'created_at', kind: 'time' } },
          tie: 'release_id',
        }),
      ),

    get: (tenant: TenantId, releaseId: string): Promise<Release> =>
      db.inTenant(tenant, async (tx) => (await queries.findRelease(tx, tenant, releaseId)) ?? noRelease()),

    create: (
      actor: Actor,
      given: Pick<ReleaseRow, 'version' | 'channel'> & { [K in keyof ReleaseFields]?: ReleaseFields[K] },
    ): Promise<Release> => {
      const write = () =>
        db.inTenant(actor.tenantId, async (tx) => {
          await lockRepository(tx, actor.tenantId)
          const fields = { ...defaults, ...given, release_id: newUuid() }
          const row = await queries.insertRelease(tx, actor.tenantId, fields, now())
          await audit.record(tx, actor, 'release.created', namesInRelease(row), { target: releaseTarget(row) })
          return { ...row, packages: 0 }
        })
      return mapUniqueViolation(
        'version',
        'release_version_is_unique_in_its_tenant',
        write,
        'is already the version of another release: use another version',
      )
    },

    /**
     * `allow` may refuse the change after it sees the stored row, under its lock. A change without effect is not
     * recorded.
     */
    replace: (
      actor: Actor,
      releaseId: string,
      next: ReleaseFields,
      allow: (before: ReleaseRow) => void,
    ): Promise<Release> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const before = (await queries.lockRelease(tx, actor.tenantId, releaseId)) ?? noRelease()
        allow(before)
        const packages = await queries.countPackages(tx, actor.tenantId, releaseId)
        const changed = differences(before, next)
        if (Object.keys(changed).length === 0) return { ...before, packages }
        const row = (await queries.updateDraft(tx, actor.tenantId, releaseId, next, now())) ?? notADraft(before.status)
        const { release_id } = namesInRelease(row)
        await audit.record(
          tx,
          actor,
          'release.updated',
          { release_id },
          { target: releaseTarget(row), changes: changed },
        )
        return { ...row, packages }
      }),

    /** Deletes a draft. Its version is free again, because it was never offered. */
    remove: (actor: Actor, releaseId: string): Promise<void> =>
      db.inTenant(actor.tenantId, async (tx) => {
        await lockRepository(tx, actor.tenantId)
        const row = (await queries.lockRelease(tx, actor.tenantId, releaseId)) ?? noRelease()
        if (row.status !== 'draft')
          failField('release_id', `is ${row.status}: a published release cannot be deleted, only withdrawn`)
        await queries.deleteDraft(tx, actor.tenantId, releaseId)
        await audit.record(tx, actor, 'release.deleted', namesInRelease(row), { target: releaseTarget(row) })
      }),
  }
}
export type ReleaseRules = ReturnType<typeof createReleaseRules>
