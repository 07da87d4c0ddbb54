import { typeId } from '../benchmarks/rig/type-id.ts'
import type { Postgres } from '../deployment/postgres.ts'
import type { Stand } from '../deployment/stand.ts'
import type { Observer } from '../trial/observer.ts'
import { readBack } from '../trial/read-back.ts'
import type { Record } from '../trial/record.ts'
import type { SoakFleet } from './soak-fleet.ts'

type Evidence = {
  postgres: Postgres
  stand: Stand
  observer: Observer
  record: Record
  fleet: SoakFleet
  faults: Map<string, number>
  say: (text: string) => void
  control: boolean
}
const mostShown = 5

/**
 * Prints every count. True if those that must be zero are zero; as a control, true if the data checks detected
 * something.
 */
export async function judgeSoak({ postgres, stand, observer, record, fleet, ...rest }: Evidence): Promise<boolean> {
  const { faults, say, control } = rest
  const differences = await observer.compare()
  const inForce = await stateOf(postgres)
  await fleet.compare(inForce)
  const found = await readBack(postgres, record)
  const exits = stand.nodes.flatMap(({ replica }) => replica.unasked.map((how) => `${replica.name}: ${how}`))
  const unhandled = [...(await stand.unhandled())].map(([what, count]) => `${count} × ${what}`)
  const served = observer.wrong.filter(({ status }) => status === 200)
  const refused = observer.wrong.filter(({ status }) => status !== 200)
  // Only the first texts are kept; the count is complete.
  const { shown } = fleet.complaints
  const mismatches = Array.from({ length: fleet.complaints.mismatches }, (_, i) => shown.mismatches[i] ?? '')
  const told = (list: typeof served) =>
    list.map((w) => `${w.replica} answered ${w.status} to ${w.deviceId} ${(w.lateMs / 1000).toFixed(1)} s late`)
  const mustBeZero: [name: string, found: readonly string[], seenByControl: boolean][] = [
    ['acknowledged writes lost', found.lost, true],
    ['refused, but there', found.refusedButThere, true],
    ['done twice', found.twice, false],
    ['served though the database forbids it', told(served), true],
    ['refused though the database allows it', told(refused), false],
    ['devices of the fleet refused for good', fleet.refusedUnasked, false],
    ['answers that are wrong in the end', differences, true],
    ['devices and gateways that are wrong in the end', mismatches, false],
    ['processes that ended by themselves', exits, false],
    ['kinds of unhandled errors in logs', unhandled, false],
  ]
  const { counts } = observer
  const total = [...faults.values()].reduce((sum, n) => sum + n, 0)
  say('')
  say(`faults                        ${total}: ${[...faults].map(([name, n]) => `${n} × ${name}`).join(', ')}`)
  const outcomes = (['acknowledged', 'refused', 'unknown'] as const).map((o) => `${record.count(o)} ${o}`)
  say(`writes                        ${outcomes.join(', ')} (of the unknown made, ${found.unknownButThere} are there)`)
  say(`newest change                 ${inForce.seq}`)
  say(
    `answers to watched devices    ${counts.served} served, ${counts.refused} refused, ${counts.unanswered} not answered; ${counts.judged} judged by ${counts.looks} looks`,
  )
  say('errors of devices and gateways:')
  for (const each of shown.errors.slice(0, mostShown)) say(`        ${each}`)
  say('must be zero:')
  for (const [name, list] of mustBeZero) {
    say(`  ${String(list.length).padStart(6)}  ${name}`)
    for (const each of list.slice(0, mostShown)) say(`            ${each}`)
  }
  if (control) return mustBeZero.every(([, list, seen]) => !seen || list.length > 0)
  return counts.judged > 0 && mustBeZero.every(([, list]) => list.length === 0)
}

/** The state in the database, read with SQL that is not the server's. */
async function stateOf(postgres: Postgres) {
  const [row] = await postgres.query<{ note: string }>(
    `select note from policy_bundles where channel = 'stable' order by version desc limit 1`,
  )
  const statuses = new Map<string, string>()
  for (const kind of ['user', 'device'] as const)
    for (const each of await postgres.query<{ id: string; status: string }>(
      `select ${kind}_id as id, status from ${kind}s`,
    ))
      statuses.set(typeId(kind, each.id), each.status)
  const [newest] = await postgres.query<{ seq: string }>('select max(seq) as seq from tenant_epochs')
  return { note: row?.note ?? '', seq: newest?.seq, statusOf: (id: string) => statuses.get(id) }
}
