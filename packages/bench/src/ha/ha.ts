import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import { readiness } from '../deployment/balancer.ts'
import { patient } from '../deployment/patient.ts'
import { type Stand, startStand } from '../deployment/stand.ts'
import { createRandom } from '../sim/random.ts'
import { openAdmin } from '../sim/setup.ts'
import { createObserver, type Observer } from '../trial/observer.ts'
import { readBack } from '../trial/read-back.ts'
import { createRecord, type Record } from '../trial/record.ts'
import { enrollWatched, runWrites, type TrialWrites } from '../trial/writes.ts'
import { type Pair, startPair } from './pair.ts'

export const scenarioNames = ['killed', 'switched', 'restarted', 'set-back'] as const
type Scenario = (typeof scenarioNames)[number]
type Options = { times: number; replicas: number; isSynchronous: boolean; chosen: readonly string[] }
const readyWithinSeconds = 3
const loadSeconds = 6
/** In asynchronous replication, seconds for which the standby is cut off before the primary is killed. */
const behindSeconds = 2

type Round = {
  scenario: Scenario
  downSeconds: number
  readySeconds: number
  exits: string[]
  lost: string[]
  twice: string[]
  forbidden: string[]
  wrongInTheEnd: string[]
}

/**
 * Runs the scenarios. True if no replica ended, all were ready in time, no acknowledged write was lost, and no
 * forbidden request was served. With asynchronous replication, a killed primary must lose acknowledged writes: this
 * shows that the check for lost writes works.
 */
export async function runHa({ times, replicas, isSynchronous, chosen }: Options): Promise<boolean> {
  const scenarios = chosen.map((name) => {
    const known = scenarioNames.find((each) => each === name)
    if (!known) throw new Error(`there is no scenario ${name}; there are ${scenarioNames.join(', ')}`)
    return known
  })
  const rounds: Round[] = []
  const trials = scenarios.flatMap((scenario) =>
    losesWrites(scenario, isSynchronous)
      ? Array.from({ length: times }, () => ({ scenario, count: 1 }))
      : [{ scenario, count: times }],
  )
  for (const { scenario, count } of trials) {
    // After a restore, the database lacks writes that the trial has recorded. So each scenario starts anew, and so does
    // each round of a scenario that loses writes.
    const trial = await startTrial({ replicas, isSynchronous })
    try {
      for (let i = 0; i < count; i++) rounds.push(await trial.round(scenario))
      for (const [what, count] of await trial.stand.unhandled()) say(`  unhandled: ${count} × ${what}`)
    } finally {
      await trial.end()
    }
  }
  return report(rounds, isSynchronous)
}

const losesWrites = (scenario: Scenario, isSynchronous: boolean) => scenario === 'killed' && !isSynchronous

type Trial = {
  stand: Stand
  round: (scenario: Scenario) => Promise<Round>
  end: () => Promise<void>
}

async function startTrial({ replicas, isSynchronous }: Pick<Options, 'replicas' | 'isSynchronous'>): Promise<Trial> {
  const pair = await startPair(isSynchronous)
  const stand = await startStand(pair.primary, { replicas })
  // The soak judges simultaneous first starts; this test judges failovers only.
  for (const { replica } of stand.nodes) replica.unasked.splice(0)
  const admin = openAdmin(stand.url, await stand.makeApiKey())
  const patientAdmin = patient(admin)
  const observer = createObserver({ nodes: stand.nodes, databaseUrl: () => pair.primary.localUrl })
  const dispatcher = new Agent()
  const record = createRecord()
  const { secret: token } = await patientAdmin.generateToken({ body: { name: 'late', max_uses: 0, tags: ['watched'] } })
  let isOver = true
  const writes: TrialWrites = {
    url: stand.url,
    admin,
    record,
    observer,
    dispatcher,
    token,
    random: createRandom(1),
    published: new Map(),
    documentOf: (n) => ({ schema: 'holdfast.policy/1', rules: [], settings: { keepalive_seconds: 10 + (n % 50) } }),
    isOver: () => isOver,
  }
  await patientAdmin.publishPolicy({ body: { channel: 'stable', policy: writes.documentOf(0) } })
  await enrollWatched({ ...writes, admin: patientAdmin }, 8)
  let n = 0

  return {
    stand,
    round: async (scenario) => {
      await pair.follow()
      const backup = scenario === 'set-back' ? await pair.primary.backup() : undefined
      isOver = false
      writes.random = createRandom(++n)
      const writing = runWrites(writes, { moves: 4, made: 4, publishEveryMs: 1_500 })
      await delay(loadSeconds * 1_000)
      const isBehind = losesWrites(scenario, isSynchronous)
      if (isBehind) {
        pair.holdBack()
        await delay(behindSeconds * 1_000)
      }
      const before = observer.wrong.length
      const began = performance.now()
      if (scenario === 'killed') await pair.killAndPromote()
      if (scenario === 'switched') await pair.switchOver()
      if (scenario === 'restarted') await pair.restartFast()
      if (backup) await pair.setBack(backup)
      for (const { proxy } of stand.nodes) {
        proxy.leadTo(pair.primary.port)
        if (scenario !== 'restarted') proxy.cut()
      }
      observer.reconnect()
      const back = performance.now()
      const readySeconds = await awaitAllReady(stand)
      await delay(4_000)
      isOver = true
      await writing
      const round = {
        scenario,
        downSeconds: (back - began) / 1000,
        readySeconds,
        ...(await judge({ pair, stand, observer, record, before, isJudged: !backup })),
      }
      // Writes to the database that a restore has replaced are not expected any more.
      if (backup) forget(record)
      say(describe(round))
      return round
    },
    end: async () => {
      isOver = true
      await observer.stop()
      await dispatcher.destroy()
      await stand.remove()
      await pair.remove()
    },
  }
}

/** Seconds until every replica reports ready and stays so for a second. */
async function awaitAllReady({ nodes }: Stand): Promise<number> {
  const started = performance.now()
  let since = Number.NaN
  while (performance.now() - started < 60_000) {
    const all = await Promise.all(nodes.map(({ replica }) => readiness(replica.port, 500)))
    if (all.includes(false)) since = Number.NaN
    else if (Number.isNaN(since) && all.every(Boolean)) since = performance.now()
    else if (performance.now() - since > 1_000 && all.every(Boolean)) return (since - started) / 1000
    await delay(50)
  }
  return Number.POSITIVE_INFINITY
}

type Evidence = {
  pair: Pair
  stand: Stand
  observer: Observer
  record: Record
  before: number
  isJudged: boolean
}

async function judge({ pair, stand, observer, record, before, isJudged }: Evidence) {
  const exits = stand.nodes.flatMap(({ replica }) => replica.unasked.splice(0).map((how) => `${replica.name}: ${how}`))
  for (const { replica } of stand.nodes) if (!replica.isRunning()) await replica.start()
  const forbidden = observer.wrong
    .slice(before)
    .filter(({ status }) => status === 200)
    .map((w) => `${w.replica} served ${w.deviceId} ${(w.lateMs / 1000).toFixed(1)} s after it was forbidden`)
  const { lost, twice } = isJudged ? await readBack(pair.primary, record) : { lost: [], twice: [] }
  return { exits, forbidden, lost, twice, wrongInTheEnd: await observer.compare() }
}

function forget(record: Record): void {
  record.made.splice(0)
  for (const subject of record.subjects.values()) subject.moves.splice(0)
}

const say = (text: string) => void process.stdout.write(`${text}\n`)

function describe(round: Round): string {
  const { scenario, downSeconds, readySeconds, exits, lost, twice, forbidden, wrongInTheEnd } = round
  const first = [...exits, ...lost, ...twice, ...forbidden, ...wrongInTheEnd].slice(0, 4).map((text) => `\n    ${text}`)
  return `${scenario.padEnd(10)} database back after ${downSeconds.toFixed(1)} s, all ready ${readySeconds.toFixed(1)} s later; ${exits.length} replicas ended, ${lost.length} acknowledged lost, ${twice.length} done twice, ${forbidden.length} served though forbidden, ${wrongInTheEnd.length} wrong in the end${first.join('')}`
}

function report(rounds: readonly Round[], isSynchronous: boolean): boolean {
  let isRight = rounds.length > 0
  say('')
  for (const [scenario, list] of Map.groupBy(rounds, (round) => round.scenario)) {
    const sum = (of: (round: Round) => readonly unknown[]) => list.reduce((total, round) => total + of(round).length, 0)
    const slowest = Math.max(...list.map(({ readySeconds }) => readySeconds))
    const counts = {
      'replicas ended': sum((r) => r.exits),
      'acknowledged lost': sum((r) => r.lost),
      'done twice': sum((r) => r.twice),
      'served though forbidden': sum((r) => r.forbidden),
      'wrong in the end': sum((r) => r.wrongInTheEnd),
    }
    const text = Object.entries(counts).map(([name, n]) => `${name} ${n}`)
    say(`${scenario} × ${list.length}: slowest ready ${slowest.toFixed(1)} s after the database; ${text.join(', ')}`)
    const { 'acknowledged lost': lost, ...mustBeZero } = counts
    const mustLose = losesWrites(scenario, isSynchronous)
    if (slowest > readyWithinSeconds || Object.values(mustBeZero).some((n) => n > 0)) isRight = false
    if (lost > 0 !== mustLose) isRight = false
    if (mustLose)
      say(lost > 0 ? '  the losses were seen, as they must be' : '  no loss was seen: the check proves nothing')
  }
  return isRight
}
