import { get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { seedFleet } from './rig/fleet.ts'
import { largeDocument } from './rig/policies.ts'
import { type Bench, type Benchmark, megabytes, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { openAdmin } from './rig/server.ts'

const work = 'random memberships: every device in 10 of 60 groups'

/**
 * P22: nearly every device selects a different set of rules. Memory must stay within bounds, and no request may stall.
 */
export const randomMemberships: Benchmark = {
  id: 'P22',
  work,
  run: async (bench) => {
    const devices = bench.scale.size(100_000)
    const even = await measure(bench, { devices, directory: true }, largeDocument({ rules: 2000, tests: 0, mark: 1 }))
    const random = await measure(bench, { devices, randomGroups: true }, byGroup(60))
    const ratio = random.bytes / even.bytes
    const row = (what: string, rest: Pick<Row, 'figure' | 'baseline' | 'ratio' | 'target' | 'verdict'>): Row => ({
      id: 'P22',
      work: `${work}, ${devices.toLocaleString('en')} devices: ${what}`,
      ...rest,
      rounds: { bytes: [even.bytes, random.bytes], stallMs: [even.stallMs, random.stallMs] },
    })
    return [
      row('memory after the publish', {
        figure: megabytes(random.bytes),
        baseline: `${megabytes(even.bytes)} the same fleet in 500 variants`,
        ratio,
        target: '≤ 2',
        verdict: verdictOf(ratio <= 2),
      }),
      row('longest stall while it is published and all gateways and devices are told', {
        figure: milliseconds(random.stallMs),
        baseline: `${milliseconds(even.stallMs)} in 500 variants`,
        ratio: null,
        target: '≤ 50 ms',
        verdict: verdictOf(random.stallMs <= 50),
      }),
      row('a warning at publish', {
        figure: random.warning ?? 'none',
        baseline: even.warning ?? 'none in 500 variants',
        ratio: null,
        target: 'one',
        verdict: verdictOf(random.warning !== undefined),
      }),
    ]
  },
}

const byGroup = (groups: number): PolicyDocument => ({
  schema: 'holdfast.policy/1',
  resources: Object.fromEntries(Array.from({ length: groups }, (_, g) => [`r${g}`, { cidrs: [`10.0.${g}.0/24`] }])),
  rules: Array.from({ length: groups }, (_, g) => ({
    id: `rule-${g}`,
    action: 'allow' as const,
    from: { groups: [`group-${g}`] },
    to: [`r${g}`],
    ports: ['tcp/443'],
  })),
})

async function measure(bench: Bench, fleet: Parameters<typeof seedFleet>[1], policy: PolicyDocument) {
  bench.say(fleet.randomGroups ? 'random memberships' : '500 variants')
  const server = await bench.startServer()
  try {
    await seedFleet(server, { ...fleet, asking: 0 })
    const { admin } = await openAdmin(server)
    await delay(3_000)
    const watch = watchStalls(server.port)
    const published = await admin.publishPolicy({ body: { channel: 'stable', policy } })
    await delay(15_000)
    const { warnings } = published as { warnings?: readonly unknown[] }
    const [warning] = warnings ?? []
    return {
      stallMs: await watch.stop(),
      bytes: server.residentBytes(),
      warning: warning === undefined ? undefined : typeof warning === 'string' ? warning : JSON.stringify(warning),
    }
  } finally {
    await server.remove()
  }
}

/** Asks for the least that there is, again and again: the longest answer is the longest stall that anybody met. */
function watchStalls(port: number) {
  let longest = 0
  let isOver = false
  const once = () =>
    new Promise<void>((resolve) => {
      const started = performance.now()
      get({ port, host: '127.0.0.1', path: '/healthz' }, (response) => {
        response.resume().once('close', () => {
          longest = Math.max(longest, performance.now() - started)
          resolve()
        })
      }).once('error', () => resolve())
    })
  const running = (async () => {
    for (; !isOver; await delay(5)) await once()
  })()
  return {
    stop: async (): Promise<number> => {
      isOver = true
      await running
      return longest
    },
  }
}
