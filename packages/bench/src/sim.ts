import { ApiError } from '@holdfast/sdk'
import { openFilesAtMost } from './deployment/open-files.ts'
import { createDeployment, type Served } from './sim/deployment.ts'
import { runKills } from './sim/kills.ts'
import { help, type Options, readOptions, UsageError } from './sim/options.ts'
import { createReplicated } from './sim/replicated.ts'
import { makeApiKey, openAdmin } from './sim/setup.ts'
import { runStory } from './sim/story.ts'

/** True: all was as it must be. */
async function run(options: Options): Promise<boolean> {
  if (options.remote) return runStory(options.remote, openAdmin(options.remote.url, options.remote.apiKey), options)
  if (options.kills > 0)
    return runOn(await createDeployment(), options, (deployment, apiKey) => runKills(deployment, apiKey, options))
  const served = options.replicas > 1 ? await createReplicated(options.replicas) : await createDeployment()
  return runOn(served, options, (deployment, apiKey) =>
    runStory(deployment, openAdmin(deployment.url, apiKey), options),
  )
}

async function runOn<D extends Served>(
  deployment: D,
  options: Options,
  tell: (deployment: D, apiKey: string) => Promise<boolean>,
): Promise<boolean> {
  const interrupted = onInterrupt()
  try {
    const isRight = await Promise.race([
      interrupted,
      start(deployment, options).then((apiKey) => tell(deployment, apiKey)),
    ])
    if (!isRight) process.stderr.write(`\nThe end of the server's log:\n${await deployment.lastOutput()}\n`)
    return isRight
  } catch (error) {
    process.stderr.write(`${await deployment.lastOutput()}\n`)
    throw error
  } finally {
    await deployment.remove({ keep: options.keep })
    if (options.keep) process.stdout.write(`Kept: ${deployment.dataDir}\n`)
  }
}

/** Starts the server. Returns an API key of a platform administrator. */
async function start(deployment: Served, { replicas, processes, seed }: Options): Promise<string> {
  if (replicas > 1)
    process.stdout.write(
      `Each device holds a connection, and a process may open ${openFilesAtMost()} files: ${replicas} replicas, ${processes} processes of devices.\n`,
    )
  process.stdout.write(`Starting a server at ${deployment.url} …\n`)
  const seconds = await deployment.start()
  process.stdout.write(`It was ready after ${seconds.toFixed(1)} s; seed ${seed}.\n`)
  return makeApiKey(deployment)
}

/** Rejects on a signal, so that processes and files are cleaned up. */
const onInterrupt = (): Promise<never> =>
  new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(signal, () => reject(new Interrupted(`stopped by ${signal}`)))
  })
class Interrupted extends Error {}

try {
  const options = readOptions(process.argv.slice(2), process.env.HOLDFAST_API_KEY)
  if (options) process.exit((await run(options)) ? 0 : 1)
  process.stdout.write(help)
} catch (error) {
  const isUsage = error instanceof UsageError
  const isPlain = isUsage || error instanceof Interrupted || error instanceof ApiError
  process.stderr.write(`sim: ${isPlain ? error.message : error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(isUsage ? 2 : 1)
}
