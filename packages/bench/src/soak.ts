import { parseArgs } from 'node:util'
import { endOnSignals } from './deployment/at-end.ts'
import { runSoak } from './soak/soak.ts'

const help = `holdfast soak: a fleet on three replicas while everything under them breaks, and a check of what is left

  npm run soak -- [options]

  --minutes N      of faults (30)
  --devices N      that poll (2000)
  --gateways N     (10)
  --replicas N     (3)
  --seed N         the same seed chooses the same faults (drawn and printed unless given)
  --control        at the end loses data and tells nobody: passes only if every check sees it
  --help

A short one: npm run soak -- --minutes 3 --devices 200 --gateways 3
Exit code: 0 when every count that must be zero is; 1 otherwise.
`

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const { values } = parseArgs({
  options: { minutes: text, devices: text, gateways: text, replicas: text, seed: text, control: flag, help: flag },
})
if (values.help) process.stdout.write(help)
else {
  endOnSignals()
  const isRight = await runSoak({
    minutes: Number(values.minutes ?? 30),
    devices: Number(values.devices ?? 2000),
    gateways: Number(values.gateways ?? 10),
    replicas: Number(values.replicas ?? 3),
    seed: Number(values.seed ?? Math.floor(Math.random() * 2 ** 31)),
    control: values.control ?? false,
  })
  process.stdout.write(isRight ? 'The soak held.\n' : 'The soak did not hold: see the counts above.\n')
  process.exit(isRight ? 0 : 1)
}
