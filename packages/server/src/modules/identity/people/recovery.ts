import type { Role } from '@holdfast/contract/vocabulary'
import type { PasswordHasher } from '@holdfast/crypto'
import type { Database, Tx } from '../../../db/database.ts'
import { jobSource, type Source, type TenantId } from '../../../kernel/actor.ts'
import { unlimited } from '../../../kernel/allowance.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import type { Change, Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { Offboarding } from '../../offboarding/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { updateBreakGlass } from './break-glass.queries.ts'
import { insertRoleGrant } from './grants.queries.ts'
import { findPassword, storePassword } from './passwords.queries.ts'
import type { SessionEnds } from './ports.ts'
import { canonicalUsername } from './username.ts'
import * as queries from './users.queries.ts'

type EndedCounts = Readonly<Record<string, number>>
/** Emergency account that the operator of the server requests. */
type Wanted = { username: string; password: string; role: Role }
/**
 * `ended`: items that the account had before and lost. `movedTo`: new name of an account that cannot have a password.
 */
type Outcome = { changed: boolean; ended: EndedCounts; movedTo: string | undefined }

const endedBecause = 'the operator of the server recovered this account'

const tries = 5

/**
 * Restores access when no identity provider answers and no break-glass password is known: a user with this password and
 * this role, who is neither locked nor suspended. An account that already has the password, the role and the
 * break-glass mark is kept. Any other account of this name may have been prepared by an attacker. It first loses its
 * links, second factor, sessions, API keys and enrollment tokens, and the keys and tokens that it created, in every
 * tenant.
 */
export function createRecovery(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  hasher: PasswordHasher
  releaseLockOf: IdentityDeps['releaseLockOf']
  notify: IdentityDeps['notify']
  sessions: Pick<SessionEnds, 'endOfUser'>
  offboarding: Pick<Offboarding, 'endCredentials'>
  keysOfUser: Pick<IdentityDeps['keysOfUser'], 'endElsewhere'>
}) {
  const { db, audit, changes, now, hasher, releaseLockOf, notify, sessions, offboarding, keysOfUser } = deps

  /** The result of each step says whether it changed anything; each change is recorded. */
  async function restore(
    tx: Tx,
    source: Source,
    user: queries.UserRow,
    { phc, role, elsewhere }: { phc: string | undefined; role: Role; elsewhere: EndedCounts },
  ): Promise<{ touched: Change[]; ended: EndedCounts }> {
    const { tenantId: tenant } = source
    const { user_id: id } = user
    const at = now()
    const user_id = encodeId('user', id)
    const more = { target: { type: 'user', id: user_id, name: user.username } }
    const changed = (operation: string) => audit.record(tx, source, 'user.changed', { operation, user_id }, more)
    const isStanding = phc === undefined && isReady(user, role)
    const cut = isStanding ? nothing : await offboarding.endCredentials(tx, source, user, endedBecause)
    const isReleased = await releaseLockOf(tx, source, id)
    const sessionsEnded = isStanding ? [] : await sessions.endOfUser(tx, source, id)
    const ended: EndedCounts = isStanding ? {} : { ...sumOf(cut.counts, elsewhere), sessions: sessionsEnded.length }
    if (phc !== undefined) {
      await storePassword(tx, tenant, id, { phc, mustChange: false, expiresAt: null, at }, undefined)
      const details = { ended }
      await audit.record(tx, source, 'user.password_changed', { user_id, method: 'recovered' }, { ...more, details })
    }
    const isFree = await queries.unlock(tx, tenant, id, at)
    if (isFree) await changed('unlock')
    const isBack = await queries.moveStatus(tx, tenant, id, 'active', at)
    if (isBack) await changed('reactivate')
    const grant = { tenant_id: tenant, user_id: id, role, granted_by: source.id, granted_at: at }
    const isGranted = await insertRoleGrant(tx, grant)
    if (isGranted) await audit.record(tx, source, 'role.granted', { user_id, role }, more)
    const isMarked = await updateBreakGlass(tx, tenant, id, true, at)
    if (isMarked) await audit.record(tx, source, 'user.break_glass_changed', { user_id, break_glass: true }, more)
    const isChanged = phc !== undefined || isReleased || isFree || isBack || isGranted || isMarked
    return {
      touched: isChanged ? [{ kind: 'user', subject: id }, ...cut.changes, ...sessionsEnded] : [],
      ended,
    }
  }

  /** Renames an account of this name that cannot have a password: one of a directory, a provider or a service. */
  async function setAside(tx: Tx, source: Source, { user_id: id, username }: queries.UserRow): Promise<string> {
    // The name is unpredictable, so nobody can take it in advance.
    const name = `${username}~${newUuid().slice(-12)}`
    await queries.updateProfile(tx, source.tenantId, id, { username: name, updated_at: now() })
    const user_id = encodeId('user', id)
    const more = { target: { type: 'user', id: user_id, name }, changes: { username: [username, name] as const } }
    await audit.record(tx, source, 'user.changed', { operation: 'update', user_id }, more)
    return name
  }

  const storedOf = async (tx: Tx, tenant: TenantId, id: string | undefined): Promise<string | null> =>
    (id !== undefined && (await findPassword(tx, tenant, id))?.password_phc) || null

  /**
   * Returns the stored hash and the hash to store: undefined if the password is already the wanted one. `prepared`: id
   * of an account with this name that is not in the wanted state.
   */
  async function judge(tenant: TenantId, username: string, { password, role }: Omit<Wanted, 'username'>) {
    const { stored, user } = await db.inTenant(tenant, async (tx) => {
      const id = await queries.findIdByUsername(tx, tenant, username)
      const user = id === undefined ? undefined : await queries.findUser(tx, tenant, id)
      return { stored: await storedOf(tx, tenant, id), user }
    })
    const isCurrent = stored !== null && (await hasher.verifyPassword(stored, password))
    const prepared = user && !isForeign(user) && !(isCurrent && isReady(user, role)) ? user.user_id : undefined
    return { stored, phc: isCurrent ? undefined : await hasher.hashPassword(password), prepared }
  }

  async function recover(
    tenant: TenantId,
    username: string,
    { password, role }: Omit<Wanted, 'username'>,
  ): Promise<Outcome> {
    const { stored, phc, prepared } = await judge(tenant, username, { password, role })
    const source = jobSource(tenant, 'break_glass')
    const owner = prepared === undefined ? undefined : { tenantId: tenant, userId: prepared }
    const endedThere = owner && (await keysOfUser.endElsewhere(source, owner, endedBecause, 'keys and tokens'))
    const elsewhere = { api_keys: endedThere?.keys.length ?? 0, enrollment_tokens: endedThere?.tokens.length ?? 0 }
    return db.inTenant(tenant, async (tx) => {
      const at = now()
      const known = await queries.findIdByUsername(tx, tenant, username)
      const found = known === undefined ? undefined : await queries.lockUser(tx, tenant, known)
      const foreignUser = found && isForeign(found) ? found : undefined
      const movedTo = foreignUser && (await setAside(tx, source, foreignUser))
      const isNew = found === undefined || foreignUser !== undefined
      const id = isNew ? newUuid() : found.user_id
      const row = { tenant_id: tenant, user_id: id, kind: 'person', username, email: null, display_name: '' } as const
      if (isNew && !(await queries.insertUnlessTaken(tx, unlimited, { ...row, created_at: at, updated_at: at })))
        throw new Overtaken()
      const user = isNew ? await queries.lockUser(tx, tenant, id) : found
      if (!user || (await storedOf(tx, tenant, id)) !== stored) throw new Overtaken()
      const target = { type: 'user', id: encodeId('user', id), name: user.username } as const
      if (isNew) await audit.record(tx, source, 'user.changed', { operation: 'create', user_id: target.id }, { target })
      const { touched, ended } = await restore(tx, source, user, { phc, role, elsewhere })
      if (touched.length === 0) return { changed: false, ended, movedTo }
      await notify(tx, tenant, {
        kind: 'break_glass.used',
        severity: 'critical',
        title: `The operator of the server set a new password for ${user.username}`,
        detail: `At a start of the server, HOLDFAST_BREAK_GLASS_PASSWORD set the password of ${user.username} and granted the role ${role}.${saidOfEnded(ended)} Remove the variable from the environment after the first sign-in.`,
        subject: target,
      })
      await changes.record(tx, tenant, movedTo && known ? [...touched, { kind: 'user', subject: known }] : touched)
      return { changed: true, ended, movedTo }
    })
  }

  return async (tenant: TenantId, { username: named, ...wanted }: Wanted): Promise<Outcome> => {
    const username = canonicalUsername(named).name ?? fail('internal_error', `${named} is not a valid username`)
    // Of several concurrent starts the first sets the password. The others try again and find it.
    for (let n = 1; ; n++)
      try {
        return await recover(tenant, username, wanted)
      } catch (e) {
        if (!(e instanceof Overtaken) || n === tries) throw e
      }
  }
}

/** True for an account that cannot have a password. */
const isForeign = ({ source, kind }: queries.UserRow): boolean => source !== 'local' || kind !== 'person'
const isReady = ({ break_glass, roles }: queries.UserRow, role: Role): boolean => break_glass && roles.includes(role)

const nothing: { counts: EndedCounts; changes: readonly Change[] } = { counts: {}, changes: [] }

const sumOf = (here: EndedCounts, elsewhere: EndedCounts): EndedCounts =>
  Object.fromEntries(Object.entries(here).map(([name, count]) => [name, count + (elsewhere[name] ?? 0)]))

/** Returns a sentence that lists the ended items; empty if nothing ended. */
const saidOfEnded = (ended: EndedCounts): string => {
  const list = listOfEnded(ended)
  return list === '' ? '' : ` Earlier credentials of the account were revoked: ${list}.`
}
/** Returns a text such as "2 api keys, 1 sessions"; empty if nothing ended. */
export const listOfEnded = (ended: EndedCounts): string =>
  Object.entries(ended)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name.replaceAll('_', ' ')}`)
    .join(', ')

/** Another transaction changed the account or its password since they were read. */
class Overtaken extends Error {}
