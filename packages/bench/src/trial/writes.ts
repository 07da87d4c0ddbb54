import { setTimeout as delay } from 'node:timers/promises'
import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { type Client, type DeviceState, enrollDevice } from '@holdfast/sdk'
import type { Dispatcher } from 'undici'
import { inParallel } from '../sim/in-parallel.ts'
import type { Random } from '../sim/random.ts'
import type { Observer } from './observer.ts'
import { outcomeOf, type Record, type Subject } from './record.ts'

/**
 * A request without an answer may still be carried out. For this time, in ms, no other request is made about its
 * subject.
 */
const settleMs = 15_000

export type TrialWrites = {
  url: string
  admin: Client
  record: Record
  observer: Observer
  random: Random
  dispatcher: Dispatcher
  /** The token with which the watched and the late devices enroll. */
  token: string
  /** The nth document to publish. */
  documentOf: (n: number) => PolicyDocument
  published: Map<string, PolicyDocument>
  isOver: () => boolean
}
type Pace = { moves: number; made: number; publishEveryMs: number }

/** Creates users with two devices each; the answers to these devices are watched. */
export async function enrollWatched(
  { url, admin, observer, dispatcher, record }: TrialWrites,
  users: number,
): Promise<void> {
  const numbers = Array.from({ length: users }, (_, n) => n)
  await inParallel(numbers, 4, async (n) => {
    const made = await admin.changeUser({ body: { operation: 'create', user: { username: `watched-${n}` } } })
    const user_id = made.user.user_id
    record.subject('user', user_id)
    const { secret: token } = await admin.generateToken({
      body: { name: `watched-${n}`, user_id, max_uses: 2, tags: ['watched'] },
    })
    for (const which of ['a', 'b']) {
      const device = { name: `watched-${n}-${which}`, platform: 'linux' as const }
      const store = { save: (state: DeviceState) => observer.watch(state) }
      const { id } = await enrollDevice({ baseUrl: url, token, device, dispatcher, store })
      record.subject('device', id)
    }
  })
}

/** Creates, publishes, suspends, reactivates and revokes until the trial is over. No request is repeated. */
export async function runWrites(writes: TrialWrites, { moves, made, publishEveryMs }: Pace): Promise<void> {
  const busy = new Set<string>()
  const run = async (lanes: number, pauseMs: number, work: () => Promise<void>) => {
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        while (!writes.isOver()) {
          await work()
          await delay(writes.random.between(pauseMs / 2, pauseMs * 1.5))
        }
      }),
    )
  }
  const { next } = writes.record
  await Promise.all([
    run(moves, 300, () => moveOne(writes, busy)),
    run(made, 300, () => makeUser(writes, next())),
    run(1, 1_000, () => enrollOne(writes, next())),
    run(1, publishEveryMs, () => publishOne(writes, next())),
  ])
}

async function makeUser({ admin, record }: TrialWrites, n: number): Promise<void> {
  const marker = `made-${n}`
  const outcome = await tell(() =>
    admin.changeUser({ body: { operation: 'create', user: { username: marker } } }, { signal: soon() }),
  )
  record.made.push({ kind: 'user', marker, outcome })
}

/** The device is watched from its enrollment, so that its loss by the database is noticed. */
async function enrollOne({ url, token, record, dispatcher, observer }: TrialWrites, n: number): Promise<void> {
  const marker = `late-${n}`
  let state: DeviceState | undefined
  const save = (saved: DeviceState) => {
    state = saved
  }
  const device = { name: marker, platform: 'linux' as const }
  const outcome = await tell(() => enrollDevice({ baseUrl: url, token, device, dispatcher, store: { save } }))
  record.made.push({ kind: 'device', marker, outcome })
  if (state && observer.devices.size < mostWatched) observer.watch(state)
}
const mostWatched = 150

async function publishOne({ admin, record, published, documentOf }: TrialWrites, n: number): Promise<void> {
  const note = `document ${n}`
  const policy = documentOf(n)
  published.set(note, policy)
  const outcome = await tell(() =>
    admin.publishPolicy({ body: { channel: 'stable', policy, note } }, { signal: soon() }),
  )
  record.made.push({ kind: 'publication', marker: note, outcome })
}

async function moveOne({ admin, record, random, isOver }: TrialWrites, busy: Set<string>): Promise<void> {
  const free = [...record.subjects.values()].filter(
    ({ id, moves }) => !busy.has(id) && !moves.some(({ want }) => want === 'revoked'),
  )
  if (free.length === 0) return
  const subject = random.pick(free)
  busy.add(subject.id)
  try {
    const last = subject.moves.findLast(({ outcome }) => outcome === 'acknowledged')?.want ?? 'active'
    // Revocations are rare, or soon no active device would be left.
    const isRevoked = subject.kind === 'device' && random.chance(0.01)
    const want = isRevoked ? 'revoked' : last === 'active' ? 'suspended' : 'active'
    const move: Subject['moves'][number] = { want, outcome: 'unknown', changed: true }
    subject.moves.push(move)
    const operation = ({ revoked: 'revoke', suspended: 'suspend', active: 'reactivate' } as const)[want]
    move.outcome = await tell(async () => {
      const answer =
        subject.kind === 'device'
          ? await admin.changeDevice(
              { body: { operation, device_id: subject.id, reason: 'trial' } },
              { signal: soon() },
            )
          : await admin.changeUser(
              {
                body: { operation: want === 'active' ? 'reactivate' : 'suspend', user_id: subject.id, reason: 'trial' },
              },
              { signal: soon() },
            )
      move.changed = answer.changed
    })
    if (move.outcome === 'unknown') for (let waited = 0; waited < settleMs && !isOver(); waited += 200) await delay(200)
  } finally {
    busy.delete(subject.id)
  }
}

/** Time limit of a request, as clients have one. */
const soon = () => AbortSignal.timeout(20_000)

async function tell(work: () => Promise<unknown>): Promise<'acknowledged' | 'refused' | 'unknown'> {
  try {
    await work()
    return 'acknowledged'
  } catch (e) {
    return outcomeOf(e)
  }
}
