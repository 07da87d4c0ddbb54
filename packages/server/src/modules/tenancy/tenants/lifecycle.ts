import { randomBytes } from 'node:crypto'
import { deletionDelayDays } from '@holdfast/contract/limits'
import type { Database, Tx } from '../../../db/database.ts'
import type { StoredLimits } from '../../../db/tables/tenancy.ts'
import { mapUniqueViolation } from '../../../db/unique-violation.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId, missing } from '../../../kernel/ids.ts'
import { day, second } from '../../../kernel/time.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { Change, Changes } from '../../../replication/changes.ts'
import type { Audit, FieldChanges } from '../../audit/index.ts'
import type { RaiseNotification } from '../../notifications/index.ts'
import type { Administrator, PrepareAdministrator } from '../deps.ts'
import type { Entitlements } from '../entitlement/entitlements.ts'
import { withoutNulls } from '../plans/limits.ts'
import { holdPlan } from '../plans/plans.queries.ts'
import { defaultTenant, newTenantId } from '../tenant-id.ts'
import * as queries from './tenants.queries.ts'

type Fields = { name?: string; display_name?: string; plan_id?: string | null; limits?: StoredLimits }
type Move = 'suspend' | 'reactivate' | 'delete' | 'cancel_deletion'
type With = { reason: string | undefined; expected: ExpectedVersion }
type Made = { userId: string; username: string; temporary: { password: string; expiresAt: Date } | null }
type Outcome = { changed: boolean; tenant: queries.TenantRow; administrator: Made | null }

const usualDelaySeconds = (deletionDelayDays * day) / second

export function createTenantLifecycle(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  entitlements: Pick<Entitlements, 'admitTenant'>
  prepareAdministrator: PrepareAdministrator
  /** Makes keys and certificates after the commit. If it fails, they are made when they are first needed. */
  provision: (tenant: TenantId) => Promise<unknown>
  notify: RaiseNotification
  onError: (e: Error) => void
}) {
  const { db, audit, changes, now, entitlements, notify } = deps
  const nameTaken = <T>(work: () => Promise<T>) => mapUniqueViolation('tenant.name', 'tenant_name_is_unique', work)

  /**
   * Audits a change in the tenant where it was requested, and in the tenant itself. Completes the idempotency claim of
   * the request.
   */
  async function record(
    tx: Tx,
    actor: Actor,
    operation: string,
    { tenant_id, name }: Pick<queries.TenantRow, 'tenant_id' | 'name'>,
    more: { changes?: FieldChanges; reason: string | undefined; also?: Change[] },
  ) {
    const id = encodeId('tenant', tenant_id)
    const fields = { operation, tenant_id: id }
    const said = {
      target: { type: 'tenant', id, name },
      ...(more.changes && { changes: more.changes }),
      ...(more.reason !== undefined && { details: { reason: more.reason } }),
    }
    if (actor.tenantId !== tenant_id)
      await db.alsoIn(tx, actor.tenantId, (own) => audit.record(own, actor, 'tenant.changed', fields, said))
    const there = actor.tenantId === tenant_id ? actor : { ...actor, tenantId: tenant_id, claim: null }
    await audit.record(tx, there, 'tenant.changed', fields, said)
    await changes.record(tx, tenant_id, [{ kind: 'tenant', subject: tenant_id }, ...(more.also ?? [])])
  }
  const read = async (tx: Tx, tenant: TenantId) => present(await queries.findTenant(tx, tenant))

  return {
    create: async (
      actor: Actor,
      { name, display_name = '', plan_id = null, limits = {} }: Fields & { name: string },
      administrator: Administrator | undefined,
      reason: string | undefined,
    ): Promise<Outcome> => {
      const tenant = newTenantId()
      const first = administrator && (await deps.prepareAdministrator(name, administrator))
      const made = await db.inTenant(tenant, async (tx) => {
        await entitlements.admitTenant(tx)
        if (plan_id !== null && !(await holdPlan(tx, plan_id))) noPlan()
        const at = now()
        const row = { tenant_id: tenant, name, display_name, plan_id, limits: withoutNulls(limits) }
        const canary_salt = randomBytes(16)
        if (!(await queries.insertTenant(tx, { ...row, canary_salt, created_at: at, updated_at: at })))
          failField('tenant.name', 'is already taken')
        const user = first ? await first.write(tx, { ...actor, tenantId: tenant, claim: null }) : undefined
        const also: Change[] = user ? [{ kind: 'user', subject: user.userId }] : []
        await record(tx, actor, 'create', row, { reason, also })
        return { row: await read(tx, tenant), user }
      })
      await deps.provision(tenant).catch(deps.onError)
      const { row, user } = made
      return {
        changed: true,
        tenant: row,
        administrator: user ? { ...user, temporary: first?.temporary ?? null } : null,
      }
    },

    update: (actor: Actor, id: TenantId, given: Fields, { reason, expected }: With): Promise<Outcome> =>
      nameTaken(() =>
        db.inTenant(id, async (tx) => {
          const before = present(await queries.lockTenant(tx, id))
          expected.require(tenantVersion(before))
          if (given.name !== undefined && given.name !== before.name && before.name === defaultTenant)
            failField(
              'tenant.name',
              `the tenant ${defaultTenant} cannot be renamed, because a sign-in without a tenant name belongs to it`,
            )
          if (given.plan_id && given.plan_id !== before.plan_id && !(await holdPlan(tx, given.plan_id))) noPlan()
          const next = {
            name: given.name ?? before.name,
            display_name: given.display_name ?? before.display_name,
            plan_id: given.plan_id === undefined ? before.plan_id : given.plan_id,
            limits: withoutNulls({ ...before.limits, ...given.limits }),
          }
          const found = differences(factsOf(before), factsOf(next))
          if (Object.keys(found).length === 0) return unchanged(before)
          await queries.updateTenant(tx, id, next, now())
          await record(tx, actor, 'update', { tenant_id: id, name: next.name }, { changes: found, reason })
          return { changed: true, tenant: await read(tx, id), administrator: null }
        }),
      ),

    move: (
      actor: Actor,
      operation: Move,
      id: TenantId,
      { reason, expected, delaySeconds = usualDelaySeconds }: With & { delaySeconds?: number },
    ): Promise<Outcome> =>
      db.inTenant(id, async (tx) => {
        const before = present(await queries.lockTenant(tx, id))
        expected.require(tenantVersion(before))
        if (operation === 'suspend' || operation === 'delete') refuseIndispensable(actor, before, operation)
        const at = now()
        const after = new Date(at.getTime() + delaySeconds * second)
        if (!(await queries.tenantTransitions[operation](tx, id, at, after))) {
          const isToGo = before.delete_after !== null && (operation === 'suspend' || operation === 'reactivate')
          if (isToGo)
            fail(
              'validation_error',
              'the tenant is scheduled for deletion: cancel the deletion with cancel_deletion first',
            )
          return unchanged(before)
        }
        const tenant = await read(tx, id)
        if (operation === 'delete') await notify(tx, id, deletionOf(tenant))
        const found = differences(stateOf(before), stateOf(tenant))
        await record(tx, actor, operation, tenant, { changes: found, reason })
        return { changed: true, tenant, administrator: null }
      }),
  }
}
export type TenantLifecycle = ReturnType<typeof createTenantLifecycle>

/** Returns the settings and the state of a tenant, which its version (ETag) depends on. */
export const tenantVersion = (tenant: queries.TenantRow) => ({ ...factsOf(tenant), ...stateOf(tenant) })

const present = (row: queries.TenantRow | undefined): queries.TenantRow =>
  row && row.status !== 'deleted' ? row : missing('tenant')
const unchanged = (tenant: queries.TenantRow): Outcome => ({ changed: false, tenant, administrator: null })
const noPlan = () => failField('tenant.plan_id', 'no such plan')
const factsOf = ({ name, display_name, plan_id, limits }: queries.TenantFields) => ({
  name,
  display_name,
  plan_id: plan_id && encodeId('plan', plan_id),
  limits,
})
const stateOf = ({ status, delete_after }: queries.TenantRow) => ({
  status,
  delete_after: delete_after?.toISOString() ?? null,
})

function refuseIndispensable(actor: Actor, { tenant_id, name }: queries.TenantRow, operation: Move): void {
  if (name === defaultTenant)
    fail(
      'validation_error',
      `the tenant ${defaultTenant} administers the deployment and cannot be suspended or deleted`,
    )
  if (tenant_id === actor.principal.tenantId)
    fail(
      'validation_error',
      `${operation} of your own tenant would end your access: an administrator of another tenant must make this change`,
    )
}

const deletionOf = ({ tenant_id, name, delete_after }: queries.TenantRow) => ({
  kind: 'tenant.deletion_scheduled' as const,
  severity: 'critical' as const,
  title: `The tenant ${name} is scheduled for deletion`,
  detail: `At ${delete_after?.toISOString()}, all its users, devices, policies and keys are deleted permanently. Until then, no user can sign in. Devices and gateways keep their policies and certificates until these expire. An administrator of the deployment can cancel the deletion.`,
  subject: { type: 'tenant', id: encodeId('tenant', tenant_id), name },
})
