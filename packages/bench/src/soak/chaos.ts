import { setTimeout as delay } from 'node:timers/promises'
import { type Postgres, signal } from '../deployment/postgres.ts'
import type { Node } from '../deployment/stand.ts'
import type { Random } from '../sim/random.ts'

const skewMs = 600_000
const longestSeconds = 30

type Chaos = {
  nodes: readonly Node[]
  postgres: Postgres
  random: Random
  /** Faults last at most so long: a short run has time for several. */
  longest: number
  say: (text: string) => void
  isOver: () => boolean
}

/**
 * Injects faults, two at a time, into replicas, their connections to the database, and the database's backends. It only
 * signals processes that this run has started, by id. Each fault is printed.
 */
export async function runChaos(chaos: Chaos): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const busy = new Set<Node>()
  const lane = async () => {
    while (!chaos.isOver()) {
      await pause(chaos, chaos.random.between(500, 4_000))
      const free = chaos.nodes.filter((node) => !busy.has(node))
      if (free.length === 0 || chaos.isOver()) continue
      const node = chaos.random.pick(free)
      const [name, fault] = chaos.random.pick(faults)
      busy.add(node)
      counts.set(name, (counts.get(name) ?? 0) + 1)
      try {
        await fault(chaos, node)
      } finally {
        busy.delete(node)
      }
    }
  }
  await Promise.all([lane(), lane()])
  for (const { replica, proxy } of chaos.nodes) {
    proxy.release()
    await replica.setClock(0)
  }
  return counts
}

type Fault = (chaos: Chaos, node: Node) => Promise<void>
const faults: readonly (readonly [string, Fault])[] = [
  ['backends stopped', stopBackends],
  ['backends stopped', stopBackends],
  ['connections cut', cut],
  ['database out of reach', blackHole],
  ['database out of reach', blackHole],
  ['killed and started', killOne],
  ['stopped and started', restartOne],
  ['clock set wrong', setClock],
]

const secondsOf = ({ random, longest }: Chaos) => random.between(1, Math.min(longestSeconds, longest))
/** Waits, but not beyond the end. */
async function pause({ isOver }: Chaos, ms: number): Promise<void> {
  for (const until = performance.now() + ms; performance.now() < until && !isOver(); ) await delay(100)
}

async function stopBackends(chaos: Chaos): Promise<void> {
  const { postgres, random, say } = chaos
  const own = new Set(postgres.backends())
  // The replicas connect by TCP, and we by the Unix socket.
  const rows = await postgres.query<{ pid: number }>(
    `select pid from pg_stat_activity where backend_type = 'client backend' and client_addr is not null order by random()`,
  )
  const pids = random.some(
    rows.map(({ pid }) => pid).filter((pid) => own.has(pid)),
    random.between(1, 6),
  )
  const seconds = secondsOf(chaos)
  say(`${pids.length} backends of the database stop for ${seconds} s`)
  for (const pid of pids) signal(pid, 'SIGSTOP')
  await pause(chaos, seconds * 1000)
  for (const pid of pids) signal(pid, 'SIGCONT')
}

async function cut({ say }: Chaos, { replica, proxy }: Node): Promise<void> {
  say(`${replica.name}: ${proxy.cut()} connections to the database are cut`)
}

async function blackHole(chaos: Chaos, { replica, proxy }: Node): Promise<void> {
  const seconds = secondsOf(chaos)
  chaos.say(`${replica.name}: nothing passes to or from the database for ${seconds} s`)
  proxy.hold()
  await pause(chaos, seconds * 1000)
  // Half the time the network remembers the connections, half the time something on the way forgot them.
  if (chaos.random.chance(0.5)) proxy.cut()
  proxy.release()
}

async function killOne(chaos: Chaos, { replica, proxy }: Node): Promise<void> {
  chaos.say(`${replica.name}: killed`)
  await replica.kill()
  proxy.release()
  await pause(chaos, chaos.random.between(0, 3_000))
  await startAgain(chaos, replica)
}

async function restartOne(chaos: Chaos, { replica, proxy }: Node): Promise<void> {
  proxy.release()
  const how = await replica.terminate()
  chaos.say(`${replica.name}: told to stop, ended with ${how}`)
  if (how !== '0') replica.unasked.push(`${how} after SIGTERM: ${await replica.lastOutput(300)}`)
  await startAgain(chaos, replica)
}

/** Starts a replica again until it stays up, as a supervisor would. The replica records each unasked exit. */
async function startAgain({ say }: Chaos, replica: Node['replica']): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      const seconds = await replica.start()
      return say(`${replica.name}: ready again after ${seconds.toFixed(1)} s`)
    } catch (e) {
      if (attempt === 3) throw e
      await replica.kill()
    }
  }
}

async function setClock(chaos: Chaos, { replica }: Node): Promise<void> {
  const offset = chaos.random.chance(0.5) ? skewMs : -skewMs
  const seconds = Math.min(60, 2 * secondsOf(chaos))
  chaos.say(`${replica.name}: its clock is ${offset / 60_000} minutes off for ${seconds} s`)
  await replica.setClock(offset)
  await pause(chaos, seconds * 1000)
  await replica.setClock(0)
}
