import type { Role } from '@holdfast/contract/vocabulary'
import type { PasswordHasher } from '@holdfast/crypto'
import type { Database, Tx } from '../../../db/database.ts'
import { jobSource, type Source, type TenantId } from '../../../kernel/actor.ts'
import { besideLimits } from '../../../kernel/allowance.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import type { Change, Changes } from '../../../memory/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { findPassword, storePassword } from '../signin/passwords.queries.ts'
import { removeFactor, setMfaAt } from '../signin/second-factor.queries.ts'
import { updateBreakGlass } from './break-glass.queries.ts'
import { insertGrant } from './grants.queries.ts'
import { canonicalUsername } from './username.ts'
import * as queries from './users.queries.ts'

/** A break-glass user as whoever runs the server wants them. */
type Wanted = { username: string; password: string; role: Role }

const tries = 5

/**
 * The way back in when no identity provider answers and no break-glass password is known: a user who has this password,
 * this role, and nothing that keeps them out. What is so already is left alone; the second factor goes with a password
 * that was another one before.
 */
export function createRecovery(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  hasher: PasswordHasher
  releaseLockOf: IdentityDeps['releaseLockOf']
  notify: IdentityDeps['notify']
  sessions: Pick<Sessions, 'endOfUser'>
}) {
  const { db, audit, changes, now, hasher, releaseLockOf, notify, sessions } = deps

  /** Each step says by its result whether there was anything to do, and is on record if there was. */
  async function restore(
    tx: Tx,
    source: Source,
    user: queries.UserRow,
    { phc, role }: { phc: string | undefined; role: Role },
  ): Promise<Change[]> {
    const { tenantId: tenant } = source
    const { user_id: id } = user
    const at = now()
    const user_id = encodeId('user', id)
    const more = { target: { type: 'user', id: user_id, name: user.username } }
    const changed = (operation: string) => audit.record(tx, source, 'user.changed', { operation, user_id }, more)
    const ended: Change[] = []
    const isReleased = await releaseLockOf(tx, source, id)
    if (phc !== undefined) {
      await storePassword(tx, tenant, id, { phc, mustChange: false, expiresAt: null, at }, undefined)
      await audit.record(tx, source, 'user.password_changed', { user_id, method: 'recovered' }, more)
      if (await removeFactor(tx, tenant, id)) {
        await setMfaAt(tx, tenant, id, null)
        await audit.record(tx, source, 'user.mfa_disabled', { user_id }, more)
      }
      ended.push(...(await sessions.endOfUser(tx, source, id)))
    }
    const isFree = await queries.unlock(tx, tenant, id, at)
    if (isFree) await changed('unlock')
    const isBack = await queries.moveStatus(tx, tenant, id, 'active', at)
    if (isBack) await changed('reactivate')
    const grant = { tenant_id: tenant, user_id: id, role, granted_by: source.id, granted_at: at }
    const isGranted = await insertGrant(tx, grant)
    if (isGranted) await audit.record(tx, source, 'role.granted', { user_id, role }, more)
    const isMarked = await updateBreakGlass(tx, tenant, id, true, at)
    if (isMarked) await audit.record(tx, source, 'user.break_glass_changed', { user_id, break_glass: true }, more)
    const isChanged = phc !== undefined || isReleased || isFree || isBack || isGranted || isMarked
    return isChanged ? [{ kind: 'user', subject: id }, ...ended] : []
  }

  const storedOf = async (tx: Tx, tenant: TenantId, id: string | undefined): Promise<string | null> =>
    (id !== undefined && (await findPassword(tx, tenant, id))?.password_phc) || null

  /** The hash that is there, and the one to be stored: none where the password is the wanted one already. */
  async function judge(tenant: TenantId, username: string, password: string) {
    const stored = await db.inTenant(tenant, async (tx) =>
      storedOf(tx, tenant, await queries.findIdByUsername(tx, tenant, username)),
    )
    const isCurrent = stored !== null && (await hasher.verifyPassword(stored, password))
    return { stored, phc: isCurrent ? undefined : await hasher.hashPassword(password) }
  }

  async function recover(tenant: TenantId, username: string, { password, role }: Omit<Wanted, 'username'>) {
    const { stored, phc } = await judge(tenant, username, password)
    const source = jobSource(tenant, 'break_glass')
    return db.inTenant(tenant, async (tx) => {
      const at = now()
      const id = newUuid()
      const row = { tenant_id: tenant, user_id: id, kind: 'person', username, email: null, display_name: '' } as const
      const isNew = await queries.insertUnlessTaken(tx, besideLimits, { ...row, created_at: at, updated_at: at })
      const found = isNew ? id : await queries.findIdByUsername(tx, tenant, username)
      const user = found === undefined ? undefined : await queries.lockUser(tx, tenant, found)
      if (user?.source !== 'local' || user.kind !== 'person') return undefined
      if ((await storedOf(tx, tenant, user.user_id)) !== stored) throw new Overtaken()
      const target = { type: 'user', id: encodeId('user', user.user_id), name: user.username } as const
      if (isNew) await audit.record(tx, source, 'user.changed', { operation: 'create', user_id: target.id }, { target })
      const touched = await restore(tx, source, user, { phc, role })
      if (touched.length === 0) return false
      await notify(tx, tenant, {
        kind: 'break_glass.used',
        severity: 'critical',
        title: `${user.username} was made able to sign in by whoever runs the server`,
        detail: `HOLDFAST_BREAK_GLASS_PASSWORD gave ${user.username} a password and the role ${role} at a start of the server. Take it out of the environment once somebody is in.`,
        subject: target,
      })
      await changes.record(tx, tenant, touched)
      return true
    })
  }

  /** Whether anything changed; undefined where the name is of an account that can have no password. */
  return async (tenant: TenantId, { username: named, ...wanted }: Wanted): Promise<boolean | undefined> => {
    const username = canonicalUsername(named).name ?? fail('internal_error', `${named} is no username`)
    // Of several starts at once the first sets the password; the others look again, and find it.
    for (let n = 1; ; n++)
      try {
        return await recover(tenant, username, wanted)
      } catch (e) {
        if (!(e instanceof Overtaken) || n === tries) throw e
      }
  }
}

/** Another password was set since the stored one was judged. */
class Overtaken extends Error {}
