import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import { patient } from '../deployment/patient.ts'
import { createPostgres } from '../deployment/postgres.ts'
import { startStand } from '../deployment/stand.ts'
import { createRandom } from '../sim/random.ts'
import { openAdmin } from '../sim/setup.ts'
import { createObserver } from '../trial/observer.ts'
import { createRecord } from '../trial/record.ts'
import { enrollWatched, runWrites, type TrialWrites } from '../trial/writes.ts'
import { runChaos } from './chaos.ts'
import { loseSomething } from './control.ts'
import { type SoakFleetOptions, startSoakFleet } from './soak-fleet.ts'
import { judgeSoak } from './verdict.ts'

type SoakOptions = SoakFleetOptions & { minutes: number; replicas: number; control: boolean }

/** Longest time to wait for each clean-up step, in ms; the exit of the process ends the rest. */
const endWithinMs = 60_000

/**
 * Runs the soak. True if every count that must be zero is zero. With `control`: true if every data check detected the
 * changes made to the data.
 */
export async function runSoak(options: SoakOptions): Promise<boolean> {
  const started = performance.now()
  const say = (text: string) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    process.stdout.write(`${seconds.padStart(7)} s  ${text}\n`)
  }
  say(`seed ${options.seed}`)
  const ends: (() => Promise<unknown>)[] = []
  const lastOutput: (() => Promise<string>)[] = []
  let isOver = false
  try {
    const postgres = await createPostgres()
    ends.push(postgres.remove)
    const stand = await startStand(postgres, { replicas: options.replicas })
    ends.push(stand.remove)
    const { url, nodes } = stand
    lastOutput.push(
      ...nodes.map(
        ({ replica }) =>
          () =>
            replica.lastOutput(),
      ),
    )
    say(`${nodes.length} replicas behind ${url}`)
    const admin = openAdmin(url, await stand.makeApiKey())
    const fleet = await startSoakFleet(url, patient(admin), options)
    ends.push(fleet.stop)
    say(`${options.devices} devices and ${options.gateways} gateways follow`)

    const observer = createObserver({ nodes, databaseUrl: () => postgres.localUrl })
    ends.push(observer.stop)
    const record = createRecord()
    const dispatcher = new Agent()
    ends.push(() => dispatcher.destroy())
    const { secret: token } = await admin.generateToken({ body: { name: 'late', max_uses: 0, tags: ['watched'] } })
    const writes: TrialWrites = {
      url,
      admin,
      record,
      observer,
      dispatcher,
      token,
      random: createRandom(options.seed + 1),
      published: fleet.published,
      documentOf: fleet.documentOf,
      isOver: () => isOver,
    }
    await enrollWatched({ ...writes, admin: patient(admin) }, 15)
    for (const { kind, id } of fleet.leavers) record.subject(kind, id)
    say(`${observer.devices.size} devices are watched at every replica; faults for ${options.minutes} minutes`)

    const writing = runWrites(writes, { moves: 4, made: 2, publishEveryMs: 6_000 })
    const chaos = runChaos({
      nodes,
      postgres,
      say,
      random: createRandom(options.seed),
      longest: Math.max(3, options.minutes * 5),
      isOver: () => isOver,
    })
    await Promise.race([delay(options.minutes * 60_000), writing, chaos])
    isOver = true
    const faults = await chaos
    say('healed')
    await writing
    await Promise.all(nodes.map(({ replica }) => replica.awaitReady().catch((e) => say(String(e)))))
    // Requests still open when the faults ended may take up to their time limits.
    await delay(10_000)
    if (options.control) await loseSomething(postgres, record, observer)
    const isRight = await judgeSoak({ postgres, stand, observer, record, fleet, faults, say, control: options.control })
    if (!isRight) say(`the output of the replicas is kept in ${await stand.keepLogs()}`)
    return isRight
  } catch (e) {
    for (const end of await Promise.all(lastOutput.map((read) => read()))) say(end)
    throw e
  } finally {
    isOver = true
    for (const end of ends.reverse())
      await Promise.race([end(), delay(endWithinMs, undefined, { ref: false })]).catch((e) =>
        process.stderr.write(`${e}\n`),
      )
  }
}
