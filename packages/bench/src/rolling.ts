import { parseArgs } from 'node:util'
import { endOnSignals } from './deployment/at-end.ts'
import { createPostgres } from './deployment/postgres.ts'
import { startHaproxy } from './rolling/haproxy.ts'
import { runRolling } from './rolling/rolling.ts'

const help = `holdfast rolling: replicas are stopped and started one after the other under load; nobody notices

  npm run rolling -- [options]

  --requests N     at least so many (20000)
  --rate N         a second (500)
  --replicas N     (3)
  --haproxy        behind HAProxy, which has to be installed, instead of a small TCP balancer
  --abrupt         SIGKILL instead of SIGTERM: requests must fail then, which shows that failures are seen
  --help

Exit code: 0 when no request failed (with --abrupt: when some did); 1 otherwise.
`

const number = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const { values } = parseArgs({
  options: { requests: number, rate: number, replicas: number, haproxy: flag, abrupt: flag, help: flag },
})
if (values.help) process.stdout.write(help)
else {
  endOnSignals()
  const postgres = await createPostgres()
  try {
    const failed = await runRolling(postgres, {
      requests: Number(values.requests ?? 20_000),
      rate: Number(values.rate ?? 500),
      replicas: Number(values.replicas ?? 3),
      abrupt: values.abrupt ?? false,
      ...(values.haproxy && { balance: startHaproxy }),
    })
    process.exitCode = failed > 0 === (values.abrupt ?? false) ? 0 : 1
  } finally {
    await postgres.remove()
  }
}
