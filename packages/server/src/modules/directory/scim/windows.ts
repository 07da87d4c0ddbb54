import type { DiffItem, HeldReason } from '@holdfast/contract/directory'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import { hour } from '../../../kernel/time.ts'
import type { Audit } from '../../audit/index.ts'
import type { RaiseNotification } from '../../notifications/index.ts'
import { noCounts } from '../counts.ts'
import { mostMembers, mostUsers } from '../guard.ts'
import * as runs from '../runs.queries.ts'
import type { Push } from './push.ts'
import * as queries from './windows.queries.ts'

/** Period in which single pushes share the limits of one snapshot, in ms. */
export const windowMs = hour
/** Stands for the users of the directory in the place of a group ID. */
const usersOfDirectory = '00000000-0000-0000-0000-000000000000'

export type Held = { held: HeldReason & { run_id: string } }
export const isHeld = (outcome: object): outcome is Held => 'held' in outcome
type Loss = {
  /** Users to be removed. */
  users: readonly string[]
  group?: { group_id: string; name: string }
  /** Size of the directory or group before any of this is done. */
  had: () => Promise<number>
  /** Entry of the change in the held run. */
  diffItem: DiffItem
}

const isOpen = ({ since, held_run_id }: { since: Date; held_run_id: string | null }, at: Date): boolean =>
  held_run_id !== null || since.getTime() > at.getTime() - windowMs

/** Limits single pushes: they may remove no more within an hour than one snapshot may. */
export function createWindows({ audit, now, notify }: { audit: Audit; now: () => Date; notify: RaiseNotification }) {
  /**
   * Records the hold and notifies administrators: these changes are not applied until an administrator confirms them.
   */
  async function hold({ tx, actor, tenant, directory, provider }: Push, reason: HeldReason, at: Date) {
    const run = newUuid()
    const run_id = encodeId('directory_run', run)
    await runs.insertDirectoryRun(tx, {
      tenant_id: tenant,
      run_id: run,
      directory_id: directory,
      provider,
      snapshot_id: `held ${run}`,
      generated_at: at,
      source: 'scim',
      status: 'held',
      counts: noCounts,
      held_because: [reason],
      diff: [],
      problems: [],
      problem_count: 0,
      started_at: at,
      finished_at: at,
    })
    const target = { type: 'directory_run', id: run_id, name: provider }
    await audit.record(tx, actor, 'directory.synced', { run_id, provider, status: 'held' }, { target })
    await notify(tx, tenant, {
      kind: 'directory.held',
      severity: 'critical',
      title: `Removals by the directory ${provider} need confirmation`,
      detail: `${sentenceOf(reason)} No further removal is applied until an administrator confirms the run: holdfast directory confirm ${run_id}. If the removals are a mistake, correct them at the identity provider and cancel the run: holdfast directory cancel ${run_id}.`,
      subject: target,
      dedupe_key: `directory.held:${run_id}`,
    })
    return run
  }

  return {
    /** Counts removals. Above the limit they are held, and the caller must not apply them. */
    take: async (push: Push, loss: Loss): Promise<Held | undefined> => {
      if (loss.users.length === 0) return undefined
      const { tx, tenant, directory } = push
      const at = now()
      const group_id = loss.group?.group_id ?? usersOfDirectory
      const moves = { tenant, directory, group: group_id }
      const before = await queries.findRemovalWindow(tx, tenant, directory, group_id)
      // Confirmed removals do not count. The window has ended when the confirmation ends.
      if (before?.free_until && before.free_until > at) return undefined
      const open = before && isOpen(before, at) ? before : undefined
      const since = open?.since ?? at
      const removedCount = open ? await queries.countGone(tx, moves) : 0
      const came = open ? await queries.cameAmong(tx, moves, loss.users) : new Set<string>()
      // Only users who were there when the window began count.
      const users = loss.users.filter((user) => !came.has(user))
      const removed = removedCount + users.length
      const mostOf = loss.group ? mostMembers : mostUsers
      const known = open?.had ?? (await loss.had())
      // Users too new to count when the window began may count by now; they were there.
      const isToLookAgain = open && !loss.group && removed > mostOf(known)
      const had = isToLookAgain ? Math.max(known, (await loss.had()) + removedCount) : known
      const most = mostOf(had)
      const rule = loss.group ? 'group_shrunk' : 'users_removed'
      const reason: HeldReason = { rule, removed, of: had, most, group: loss.group?.name ?? null }
      let held_run_id = before?.held_run_id ?? null
      if (held_run_id === null && users.length > 0 && removed > most) {
        held_run_id = await hold(push, reason, at)
        await queries.putWindow(tx, tenant, directory, {
          group_id,
          since,
          had,
          removed: removedCount,
          held_run_id,
          free_until: null,
        })
        if (!open) await queries.forgetMoves(tx, moves, 'all')
      }
      if (held_run_id !== null) {
        await queries.noteRefused(tx, tenant, held_run_id, loss.diffItem)
        return { held: { ...reason, run_id: encodeId('directory_run', held_run_id) } }
      }
      const after = { group_id, since, had, removed, held_run_id, free_until: null }
      await queries.putWindow(tx, tenant, directory, after)
      await queries.forgetMoves(tx, moves, open ? { came: true, users: loss.users } : 'all')
      await queries.noteMoves(tx, moves, { came: false, users })
      return undefined
    },

    /** Counts added users: removed ones are back, and the others were not there when the window began. */
    come: async ({ tx, tenant, directory }: Push, users: readonly string[], group?: string): Promise<void> => {
      if (users.length === 0) return
      const moves = { tenant, directory, group: group ?? usersOfDirectory }
      const window = await queries.findRemovalWindow(tx, tenant, directory, moves.group)
      if (!window || !isOpen(window, now())) return
      const back = await queries.forgetMoves(tx, moves, { came: false, users })
      await queries.noteMoves(tx, moves, { came: true, users: users.filter((user) => !back.has(user)) })
    },
  }
}
export type Windows = ReturnType<typeof createWindows>

const sentenceOf = ({ rule, removed, of, most, group }: HeldReason): string =>
  rule === 'users_removed'
    ? `Within an hour ${removed} of ${of} active users would be suspended; the limit is ${most}.`
    : `Within an hour the group ${group} would lose ${removed} of ${of} members; the limit is ${most}.`

/** Throws 403: the change was not applied, and administrators have been notified. */
export const refuseHeldRun = ({ held }: Held): never =>
  fail('forbidden', `held: ${sentenceOf(held)} An administrator must confirm the run ${held.run_id} first.`)
