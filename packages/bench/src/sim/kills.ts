import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '@holdfast/sdk'
import { createComplaints } from './complaints.ts'
import type { Deployment } from './deployment.ts'
import { isUsable, planDirectory } from './directory.ts'
import { createDisplay } from './display.ts'
import { stableDocument } from './documents.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { createJudge } from './judge.ts'
import { type Published, runTraffic } from './kills-traffic.ts'
import { createLedger, type Entry, formatLedger } from './ledger.ts'
import type { Options } from './options.ts'
import { createRandom } from './random.ts'
import * as setup from './setup.ts'
import { formatSummary } from './summary.ts'

const longestLifeMs = 1_500

/**
 * Kills the server repeatedly under load, and restarts it on the same data. Afterwards all acknowledged changes must be
 * there, and every device must continue with its credential. True if nothing was lost.
 */
export async function runKills(deployment: Deployment, apiKey: string, options: Options): Promise<boolean> {
  const random = createRandom(options.seed)
  const directory = planDirectory(random, options)
  const complaints = createComplaints()
  const display = createDisplay(process.stdout, () => complaints.errors + complaints.mismatches)
  const leaving = new Set<number>()
  const fleet = startFleet(options.processes, {
    complaints,
    forgives: (event) =>
      leaving.has(event.index) || (event.kind === 'error' && event.message.startsWith('ConnectionError')),
  })
  const admin = setup.openAdmin(deployment.url, apiKey)
  const judge = createJudge({ directory, fleet, complaints })
  let over = false
  try {
    await setup.createAll({ url: deployment.url, admin, directory, fleet, display, random })
    const stable = stableDocument(random, directory)
    await admin.publishPolicy({ body: { channel: 'stable', policy: stable, note: 'first' } })
    await fleet.startPolling(
      directory.devices.map(({ index }) => index),
      20,
    )

    const [crew] = directory.crews
    if (!crew) throw new Error('there is no crew')
    const { secret: token } = await admin.generateToken({ body: { name: 'late', max_uses: 0, tags: crew.tags } })
    const published: Published = new Map([['first', stable]])
    const ledger = createLedger()
    let up = Promise.withResolvers<void>()
    up.resolve()
    const traffic = runTraffic(
      {
        url: deployment.url,
        apiKey,
        admin,
        ledger,
        directory,
        fleet,
        random,
        crew,
        token,
        stable,
        leaving,
        up: () => up.promise,
        isOver: () => over,
      },
      published,
    )
    const restarts: number[] = []
    await display.phase('kill and start again', options.kills, async (advance) => {
      const killing = async () => {
        for (let n = 0; n < options.kills && !over; n++) {
          await delay(random.between(100, longestLifeMs))
          up = Promise.withResolvers<void>()
          await deployment.kill(n % 2 === 0)
          restarts.push((await deployment.start()) * 1000)
          up.resolve()
          advance()
        }
      }
      await Promise.race([killing(), traffic.then(() => Promise.reject(new Error('the traffic ended')))])
    })
    over = true
    await traffic

    await goOn({ admin, fleet, judge, published, directory, complaints, display })
    const isThere = await display.phase('read what is there', 0, () => readPresence(admin))
    const tallies = ledger.tally(isThere)
    for (const { kind, lost } of tallies) for (const text of lost) complaints.mismatch(`lost ${kind}: ${text}`)
    const rows = [
      { name: 'kill → ready again', samples: restarts },
      { name: 'unexpected errors', value: `${complaints.errors}` },
      { name: 'mismatches', value: `${complaints.mismatches}` },
    ]
    display.line(`\n${formatLedger(tallies)}\n\n${formatSummary(rows)}\n`)
    return complaints.mismatches + complaints.errors === 0
  } finally {
    over = true
    for (const line of complaints.lines) display.line(line)
    await fleet.stop()
  }
}

type Aftermath = {
  admin: Client
  fleet: Fleet
  judge: ReturnType<typeof createJudge>
  published: Published
  directory: ReturnType<typeof planDirectory>
  complaints: ReturnType<typeof createComplaints>
  display: ReturnType<typeof createDisplay>
}

/** Every device that was not revoked polls with its credential, and must get the latest policy. */
async function goOn({ admin, fleet, judge, published, directory, complaints, display }: Aftermath): Promise<void> {
  const current = (await admin.listPolicyBundles({ query: { channel: 'stable', limit: 1, sort: '-version' } })).items[0]
  const stable = published.get(current?.note ?? '')
  if (!stable) throw new Error(`the policy in force is none of ours: ${current?.note}`)
  const force = { stable, canary: undefined }
  const living = directory.devices.filter(isUsable).map(({ index }) => index)
  await fleet.stopPolling(living)
  await display.phase('devices go on', living.length, (advance) => fleet.poll(living, advance))
  for (const { index, status } of await fleet.ask(living))
    if (status !== 200) complaints.mismatch(`device ${index}: expected 200 after the restarts, got ${status}`)
  judge.devices(force)
}

/** Reads the server's state. Returns a function that tells if an entry of the ledger is in it. */
async function readPresence(admin: Client): Promise<(entry: Entry) => boolean> {
  const devices = await readAll((page) => admin.listDevices({ query: page }))
  const bundles = await readAll((page) => admin.listPolicyBundles({ query: page }))
  const [uses, enrollments, changes, publications] = await Promise.all(
    (['api_key.used', 'device.enrolled', 'device.changed', 'policy.published'] as const).map((kind) =>
      readAll((page) => admin.listAuditEvents({ query: { ...page, kind, outcome: 'success' } })),
    ),
  )
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  const onRecord = {
    use: new Set(uses?.flatMap((e) => [text(e.request_id), text(e.user_agent)])),
    enrolled: new Set(enrollments?.map((e) => text(e.target?.id))),
    revoked: new Set(
      changes?.filter((e) => 'operation' in e && e.operation === 'revoke').map((e) => text(e.target?.id)),
    ),
    published: new Set(publications?.map((e) => text(e.target?.id))),
  }
  return ({ kind, marker, proof }) => {
    if (kind === 'API key use') return onRecord.use.has(proof ?? marker)
    if (kind === 'publish') {
      const bundle = bundles.find((b) => b.note === marker)
      return (
        bundle !== undefined &&
        (proof === undefined || bundle.bundle_id === proof) &&
        onRecord.published.has(bundle.bundle_id)
      )
    }
    const device = devices.find((d) => (kind === 'enrollment' ? d.name === marker : d.device_id === marker))
    if (!device || (proof !== undefined && device.device_id !== proof)) return false
    return kind === 'enrollment'
      ? onRecord.enrolled.has(device.device_id)
      : device.status === 'revoked' && onRecord.revoked.has(device.device_id)
  }
}

type Page = { limit: number; cursor?: string }
async function readAll<T>(read: (page: Page) => Promise<{ items: T[]; next_cursor: string | null }>): Promise<T[]> {
  const items: T[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { items: T[]; next_cursor: string | null } = await read({ limit: 200, ...(cursor && { cursor }) })
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items
}
