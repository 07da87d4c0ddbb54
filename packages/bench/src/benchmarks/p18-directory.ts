import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '@holdfast/sdk'
import { askOnce } from './rig/http-connection.ts'
import { ownCpuSeconds } from './rig/process-tree.ts'
import { rawRequest } from './rig/requests.ts'
import { type Bench, type Benchmark, megabytes, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { openAdmin } from './rig/server.ts'

const work = 'a directory snapshot: 50,000 users, 2,000 groups, 300,000 memberships'
const full = { users: 50_000, groups: 2000, membershipsOfUser: 6 }

/** P18: a whole directory as one snapshot, while a second connection checks that the server answers. */
export const directory: Benchmark = { id: 'P18', work, run }

type Snapshot = Parameters<Client['ingestDirectorySnapshot']>[0]['body']

function directoryOf(users: number, groups: number): Pick<Snapshot, 'users' | 'groups'> {
  const members: string[][] = Array.from({ length: groups }, () => [])
  for (let u = 0; u < users; u++)
    for (let m = 0; m < full.membershipsOfUser; m++) members[(u * 7 + m * 331) % groups]?.push(idOf(u))
  return {
    users: Array.from({ length: users }, (_, u) => ({
      externalId: idOf(u),
      userName: `person.${u}@corp.example`,
      displayName: `Person Number ${u}`,
      emails: [`person.${u}@corp.example`],
      active: true,
    })),
    groups: members.map((its, g) => ({ externalId: `group-${g}`, displayName: `Group ${g}`, members: its })),
  }
}
const idOf = (n: number) => `8f14e45f-ceea-467f-a9c1-${n.toString(16).padStart(12, '0')}`

async function run({ scale, say, startServer }: Bench): Promise<Row[]> {
  const [users, groups] = [scale.size(full.users), scale.size(full.groups)]
  const server = await startServer()
  const { admin } = await openAdmin(server)
  const first = directoryOf(users, groups)
  const bytes = Buffer.byteLength(JSON.stringify(first))
  // A twentieth of the users leaves, and as many join.
  const gone = users / 20
  const grown = directoryOf(users + gone, groups)
  const second = {
    users: grown.users.slice(gone),
    groups: grown.groups.map((g) => ({ ...g, members: g.members.filter((id) => id >= idOf(gone)) })),
  }

  let n = 0
  const push = async (
    what: string,
    body: Pick<Snapshot, 'users' | 'groups'>,
    more: Partial<Snapshot>,
    status: string,
  ) => {
    say(what)
    const generated_at = new Date(Date.now() - 1_000_000 + ++n * 1000).toISOString()
    const stall = watchStalls(server.port)
    const started = performance.now()
    const cpu = ownCpuSeconds(server.pid())
    const snapshot = { provider: 'corp', snapshot_id: `s-${n}`, generated_at, full: true as const, ...body, ...more }
    const run = await admin.ingestDirectorySnapshot({ body: snapshot }).catch(async (e) => {
      await stall()
      throw e
    })
    const seconds = (performance.now() - started) / 1000
    if (run.status !== status) throw new Error(`${what}: ${run.status}, not ${status}`)
    return { what, seconds, cpu: ownCpuSeconds(server.pid()) - cpu, longestMs: await stall(), run }
  }
  const dry = await push('dry run of the first', first, { dry_run: true }, 'dry_run')
  const applied = await push('the first, applied', first, {}, 'applied')
  const unchanged = await push('the same again', first, {}, 'unchanged')
  const dryChange = await push('dry run of a change of 5 %', second, { dry_run: true }, 'dry_run')
  const change = await push('a change of 5 %, applied', second, {}, 'applied')

  const row = (found: Awaited<ReturnType<typeof push>>, most: number): Row => ({
    id: 'P18',
    work: `${work}: ${found.what}`,
    figure: milliseconds(found.seconds * 1000),
    baseline: 'none: the design states it as it is',
    ratio: null,
    target: `≤ ${most} s`,
    verdict: verdictOf(found.seconds <= most),
    note: `${users.toLocaleString('en')} users, ${found.run.counts.memberships.added + found.run.counts.memberships.removed} memberships moved, ${megabytes(bytes)} of JSON; the server's process took ${found.cpu.toFixed(1)} s of CPU, and another request at most ${milliseconds(found.longestMs)}`,
  })
  return [row(dry, 10), row(applied, 30), row(unchanged, 3), row(dryChange, 10), row(change, 30)]
}

/**
 * Returns the longest latency of concurrent requests. They are answered from memory, so only a busy process delays
 * them.
 */
function watchStalls(port: number): () => Promise<number> {
  let longest = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const started = performance.now()
      await askOnce(port, rawRequest('GET', '/healthz', {}))
      longest = Math.max(longest, performance.now() - started)
      await delay(20)
    }
  })()
  return async () => {
    isOver = true
    await watching
    return longest
  }
}
