import { contract } from '@holdfast/contract'
import {
  type Permission,
  sharedViewPermission,
  type ViewList,
  viewLimits,
  viewListNames,
  viewLists,
} from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../db/database.ts'
import type { Page, PageQuery, Pager } from '../../db/page.ts'
import { mapUniqueViolation } from '../../db/unique-violation.ts'
import { type Actor, permissionsOf, type TenantId } from '../../kernel/actor.ts'
import { fail, failField, failMaximum } from '../../kernel/app-error.ts'
import { differences } from '../../kernel/differences.ts'
import { encodeId, missing, newUuid } from '../../kernel/ids.ts'
import type { ExpectedVersion } from '../../kernel/version.ts'
import type { Audit } from '../audit/index.ts'
import { requireParameters } from './parameters.ts'
import type { Viewer, ViewFields, ViewRow } from './views.queries.ts'
import * as queries from './views.queries.ts'

export type ViewsDeps = { db: Database; audit: Audit; pager: Pager; now: () => Date }

const permissionOf = (list: ViewList): Permission => contract[viewLists[list]].access.permission
/** Null for an API key, and for a visitor from another tenant. */
const personOf = ({ principal, tenantId }: Actor): string | null =>
  principal.kind === 'session' && principal.tenantId === tenantId ? principal.userId : null
const viewerOf = (actor: Actor): Viewer => {
  const held = permissionsOf(actor)
  return { person: personOf(actor), lists: viewListNames.filter((list) => held.has(permissionOf(list))) }
}
const mayChangeShared = (actor: Actor): boolean => permissionsOf(actor).has(sharedViewPermission)

/** Saved views: those of a person, and those that a tenant shares. Nothing else depends on these rows. */
export function createViews({ db, audit, pager, now }: ViewsDeps) {
  const unlessTaken = <T>(work: () => Promise<T>) =>
    mapUniqueViolation(
      'name',
      'view_name_is_unique_for_its_owner',
      work,
      'is already the name of another view of this list',
    )
  const targetOf = (id: string, name: string) => ({ type: 'view', id: encodeId('view', id), name })

  function requireReadable(actor: Actor, list: ViewList): void {
    if (!permissionsOf(actor).has(permissionOf(list)))
      fail('forbidden', `the list ${list} needs the permission ${permissionOf(list)}`)
  }
  /** Checked under the lock of the tenant's views (`takeTurns`). `adds`: the counts that the change increases. */
  async function requireRoom(tx: Tx, tenant: TenantId, owner: string | null, adds: { own: boolean; shared: boolean }) {
    const { own, shared } = await queries.countViews(tx, tenant, owner)
    if (adds.own && owner !== null && own >= viewLimits.own)
      failMaximum(`you have ${viewLimits.own} saved views`, 'delete a view first')
    if (adds.shared && shared >= viewLimits.shared)
      failField(
        'shared',
        `the tenant has ${viewLimits.shared} shared views, which is the maximum: delete one, or keep this view private`,
      )
  }
  const requireMayChange = (actor: Actor, view: ViewRow): void => {
    if (view.owner_id !== null && view.owner_id === personOf(actor)) return
    if (!mayChangeShared(actor))
      fail('forbidden', `changing a shared view of another user needs the permission ${sharedViewPermission}`)
  }

  return {
    list: (actor: Actor, query: PageQuery & { list?: ViewList; shared?: boolean }): Promise<Page<ViewRow>> =>
      db.inTenant(actor.tenantId, (tx) => {
        const viewer = viewerOf(actor)
        const filter = {
          ...(query.list !== undefined && { list: query.list }),
          ...(query.shared !== undefined && { shared: query.shared }),
        }
        return pager.list(queries.selectVisible(tx, actor.tenantId, viewer, filter), {
          operation: 'listViews',
          tenant: actor.tenantId,
          query,
          orders: { name: { column: 'name', kind: 'text' }, created_at: { column: 'created_at', kind: 'time' } },
          tie: 'view_id',
        })
      }),

    find: async (actor: Actor, id: string): Promise<ViewRow> =>
      (await db.inTenant(actor.tenantId, (tx) => queries.findVisible(tx, actor.tenantId, viewerOf(actor), id))) ??
      missing('view'),

    create: (actor: Actor, list: ViewList, wanted: ViewFields): Promise<ViewRow> => {
      const { tenantId: tenant } = actor
      const owner = personOf(actor)
      requireReadable(actor, list)
      if (owner === null && !mayChangeShared(actor))
        fail(
          'forbidden',
          `a caller that is not a user of this tenant can only create shared views, which needs the permission ${sharedViewPermission}`,
        )
      if (owner === null && !wanted.shared)
        failField(
          'shared',
          'must be true, because an API key or an administrator of another tenant has no private views',
        )
      requireParameters(list, wanted.query)
      return unlessTaken(() =>
        db.inTenant(tenant, async (tx) => {
          await queries.lockNewViews(tx, tenant)
          await requireRoom(tx, tenant, owner, { own: true, shared: wanted.shared })
          const id = newUuid()
          await queries.insertView(tx, tenant, { ...wanted, id, owner, list, at: now() })
          const target = targetOf(id, wanted.name)
          const fields = { view_id: target.id, list, shared: wanted.shared }
          await audit.record(tx, actor, 'view.created', fields, { target })
          return (await queries.findVisible(tx, tenant, viewerOf(actor), id)) ?? missing('view')
        }),
      )
    },

    /**
     * `allow` may refuse the change after it sees the stored row, under the lock. A change without effect is not
     * recorded.
     */
    replace: (actor: Actor, id: string, wanted: ViewFields, allow: (before: ViewRow) => void): Promise<ViewRow> => {
      const { tenantId: tenant } = actor
      const viewer = viewerOf(actor)
      return unlessTaken(() =>
        db.inTenant(tenant, async (tx) => {
          await queries.lockNewViews(tx, tenant)
          const before = (await queries.lockView(tx, tenant, viewer, id)) ?? missing('view')
          requireMayChange(actor, before)
          allow(before)
          requireReadable(actor, before.list)
          requireParameters(before.list, wanted.query)
          const changes = differences(fieldsOf(before), wanted)
          if (Object.keys(changes).length === 0) return before
          if (!wanted.shared && (before.owner_id === null || before.owner_id !== personOf(actor)))
            failField('shared', 'must remain true, because only the owner can make a shared view private')
          if (wanted.shared && !before.shared)
            await requireRoom(tx, tenant, before.owner_id, { own: false, shared: true })
          await queries.updateView(tx, tenant, id, wanted, now())
          const target = targetOf(id, wanted.name)
          const fields = { view_id: target.id, list: before.list, shared: wanted.shared }
          await audit.record(tx, actor, 'view.updated', fields, { target, changes })
          return (await queries.findVisible(tx, tenant, viewer, id)) ?? missing('view')
        }),
      )
    },

    remove: (actor: Actor, id: string, expected: ExpectedVersion): Promise<boolean> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const { tenantId: tenant } = actor
        const viewer = viewerOf(actor)
        const before = await queries.lockView(tx, tenant, viewer, id)
        if (!before) {
          if (!(await queries.wasViewDeleted(tx, tenant, viewer, id))) return missing('view')
          expected.require(undefined)
          return false
        }
        requireMayChange(actor, before)
        expected.require(viewVersion(before))
        await queries.deleteView(tx, tenant, id, now())
        const target = targetOf(id, before.name)
        const fields = { view_id: target.id, list: before.list, shared: before.shared }
        await audit.record(tx, actor, 'view.deleted', fields, { target })
        return true
      }),
  }
}
export type Views = ReturnType<typeof createViews>

const fieldsOf = ({ name, query, shared }: ViewFields): ViewFields => ({ name, query, shared })
/** The fields of a view that its version (ETag) depends on. */
export const viewVersion = (view: ViewRow) => ({ view_id: view.view_id, ...fieldsOf(view) })
