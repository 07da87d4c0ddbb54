import type { Tx } from '../../db/database.ts'
import { createSlices, inSlices } from '../../kernel/time-slice.ts'
import { isRole } from '../access/index.ts'
import { type Owned, type OwnedUser, rolesOf } from '../identity/index.ts'
import type { ActingPrincipal } from './acting-principal.ts'
import { heldReasons } from './guard.ts'
import { isToGo, namesToAsk, peopleOf, planOf } from './plan.ts'
import type { Said } from './snapshot.ts'
import { summaryOf } from './summary.ts'

/** Number of problems stored with the run. */
const problemsKept = 100
/** Names per statement. */
const askedAtOnce = 5000

/**
 * Computes the changes and checks whether they look like a mistake. A caller that applies them holds the directory
 * lock.
 */
export const createSnapshotJudge =
  (owned: Owned) => async (tx: Tx, principal: ActingPrincipal, directory: string | undefined, snapshot: Said) => {
    const tenant = principal.source.tenantId
    const before =
      directory === undefined
        ? { users: [], groups: [], members: [] }
        : {
            users: await owned.usersOf(tx, tenant, directory),
            groups: await owned.groupsOf(tx, tenant, directory),
            members: await owned.membersOf(tx, tenant, directory),
          }
    const slices = createSlices()
    const people = await inSlices(
      peopleOf(snapshot, before, (user) => !isStrongerThanPrincipal(principal, user)),
      slices,
    )
    const frozen = new Map<string, 'last_administrator' | 'stronger_user'>()
    for (const user of before.users)
      if (isStrongerThanPrincipal(principal, user)) frozen.set(user.user_id, 'stronger_user')
    const going = people.flatMap((p) => (p.before && isToGo(p) && !frozen.has(p.id) ? [p.before] : []))
    for (const id of await owned.lastAdministrators(tx, tenant, going)) frozen.set(id, 'last_administrator')
    const taken = { username: new Set<string>(), group: new Set<string>() }
    const { usernames, groups } = namesToAsk(people, snapshot, before)
    for (let at = 0; at < Math.max(usernames.length, groups.length); at += askedAtOnce) {
      const part = <T>(names: T[]) => names.slice(at, at + askedAtOnce)
      const names = { usernames: part(usernames), groups: part(groups) }
      for (const { kind, name } of await owned.takenByOthers(tx, tenant, directory ?? null, names))
        taken[kind].add(name)
    }
    const plan = await planOf(snapshot, before, people, { taken, frozen })
    return { plan, held: heldReasons(snapshot, before, plan), ...summaryOf(plan, before) }
  }
type Judged = Awaited<ReturnType<ReturnType<typeof createSnapshotJudge>>>

/** True if the user has a role that allows more than the acting principal may do. Such users must not be changed. */
export const isStrongerThanPrincipal = (
  { mayHandle }: Pick<ActingPrincipal, 'mayHandle'>,
  user: Pick<OwnedUser, 'roles'>,
): boolean => user.roles !== null && rolesOf(user).some((role) => isRole(role) && !mayHandle(role))

/** Results of the assessment that a run stores. */
export const judgementColumns = ({ counts, diff, plan }: Judged) => ({
  counts,
  diff,
  problems: plan.problems.slice(0, problemsKept),
  problem_count: plan.problems.length,
})
