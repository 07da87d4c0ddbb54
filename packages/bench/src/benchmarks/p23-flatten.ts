import { contentDigest } from '@holdfast/crypto/canonical'
import { flatten, type VariantContent } from '@holdfast/policy'
import { type Benchmark, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { median } from './rig/rounds.ts'

const work = 'a gateway flattens 200 variants of 50 rules'
const variants = 200
const rules = 50

/** P23: the work of a gateway on a new policy before it can enforce it, reading each variant for the first time. */
export const flattening: Benchmark = {
  id: 'P23',
  work,
  run: async ({ scale }) => {
    const texts = Array.from({ length: variants }, (_, v) => JSON.stringify(variantOf(v)))
    const names = new Map(
      Array.from({ length: variants }, (_, v) => [`host-${v}.corp.example`, [`10.250.0.${v}`, `fd00:250::${v}`]]),
    )
    const asked = { pool: 'pool-1', at: Date.UTC(2027, 0, 4, 12), connection: { source_ip: '192.0.2.7' }, names }
    const flattened: number[] = []
    const verified: number[] = []
    let boxes = 0
    for (let round = 0; round < scale.rounds; round++) {
      const contents = texts.map((text): VariantContent => JSON.parse(text))
      const started = performance.now()
      for (const content of contents) contentDigest(content)
      verified.push(performance.now() - started)
      const between = performance.now()
      boxes = contents.reduce((sum, content) => sum + flatten(content, asked).boxes.length, 0)
      flattened.push(performance.now() - between)
    }
    const [figure, baseline] = [median(flattened), median(verified)]
    const row: Row = {
      id: 'P23',
      work,
      figure: milliseconds(figure),
      baseline: `${milliseconds(baseline)} to verify their digests`,
      ratio: figure / baseline,
      target: '≤ 1 s',
      verdict: verdictOf(figure <= 1000),
      note: `${boxes.toLocaleString('en')} boxes`,
      rounds: { flattened, verified },
    }
    return [row]
  },
}

/** Resources of several networks of both families and names, a rule in ten that denies, one in five with a window. */
function variantOf(v: number): VariantContent {
  const places = Array.from({ length: rules }, (_, i) => `place-${i}`)
  return {
    schema: 'holdfast.policy/1',
    rules: places.map((place, i) => ({
      id: `rule-${v}-${i}`,
      action: i % 10 === 9 ? 'deny' : 'allow',
      to: i % 10 === 9 ? [`10.${i - 1}.${v}.0/28`, 'fd00:7::/64'] : [place],
      ...(i % 2 === 0 && { ports: ['tcp/443', 'tcp/8000-8100', 'udp/443'] }),
      ...(i % 5 === 0 && { when: { time: [{ from: '06:00', to: '22:00', zone: 'Europe/Berlin' }] } }),
      ...(i % 7 === 0 && { log: true }),
    })),
    resources: Object.fromEntries(
      places.map((place, i) => [
        place,
        {
          cidrs: [`10.${i}.${v}.0/24`, `10.${i}.0.${v}/32`, `fd00:${i}:${v}::/64`],
          dns: [`host-${(v + i) % variants}.corp.example`],
          ports: ['tcp/1-9000', 'udp/443', 'icmp'],
          ...(i % 3 === 0 && { pool: `pool-${1 + (i % 2)}` }),
        },
      ]),
    ),
    settings: {},
    gateway_pools: ['pool-1', 'pool-2'],
    posture_checks: [],
  }
}
