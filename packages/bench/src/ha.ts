import { parseArgs } from 'node:util'
import { endOnSignals } from './deployment/at-end.ts'
import { runHa, scenarioNames } from './ha/ha.ts'

const help = `holdfast ha: PostgreSQL with a streaming standby fails over, restarts and goes back, under load

  npm run ha -- [options] [scenarios]

  --times N        each scenario (5)
  --replicas N     (3)
  --asynchronous   commits do not wait for the standby: acknowledged writes may then be lost, and the count shows it
  --help

Scenarios: ${scenarioNames.join(', ')}
Exit code: 0 when every count that must be zero is, and all were ready again in time; 1 otherwise.
`

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: text, replicas: text, asynchronous: flag, help: flag },
})
if (values.help) process.stdout.write(help)
else {
  endOnSignals()
  const isRight = await runHa({
    times: Number(values.times ?? 5),
    replicas: Number(values.replicas ?? 3),
    isSynchronous: !values.asynchronous,
    chosen: positionals.length > 0 ? positionals : scenarioNames,
  })
  process.exit(isRight ? 0 : 1)
}
