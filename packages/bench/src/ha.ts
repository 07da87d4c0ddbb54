import { parseArgs } from 'node:util'
import { endOnSignals } from './deployment/at-end.ts'
import { runHa, scenarioNames } from './ha/ha.ts'

const help = `holdfast ha: PostgreSQL with a streaming standby fails over, restarts and goes back, under load

  npm run ha -- [options] [scenarios]

  --times N        each scenario (5)
  --replicas N     (3)
  --asynchronous   the control: commits do not wait for the standby, which is cut off before a kill. Acknowledged writes
                   are lost then, and it passes only if they are counted
  --help

Scenarios: ${scenarioNames.join(', ')}
After a restart of the primary no commit is answered before the standby has found it again. PostgreSQL tries that every
5 seconds; here it does every 200 ms (wal_retrieve_retry_interval), as the bar is on the replicas, not on that pause.
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
