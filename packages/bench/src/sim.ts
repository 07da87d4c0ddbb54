import { ApiError } from '@holdfast/sdk'
import { createDeployment, type Deployment } from './sim/deployment.ts'
import { runKills } from './sim/kills.ts'
import { help, type Options, readOptions, UsageError } from './sim/options.ts'
import { makeApiKey, openAdmin } from './sim/setup.ts'
import { runStory } from './sim/story.ts'

/** True: all was as it must be. */
async function run(options: Options): Promise<boolean> {
  if (options.remote) return runStory(options.remote.url, openAdmin(options.remote.url, options.remote.apiKey), options)
  const deployment = await createDeployment()
  const interrupted = onInterrupt()
  try {
    const isRight = await Promise.race([interrupted, runOn(deployment, options)])
    if (!isRight) process.stderr.write(`\nThe end of the server's log:\n${await deployment.lastWords()}\n`)
    return isRight
  } catch (error) {
    process.stderr.write(`${await deployment.lastWords()}\n`)
    throw error
  } finally {
    await deployment.remove({ keep: options.keep })
    if (options.keep) process.stdout.write(`Kept: ${deployment.dataDir}\n`)
  }
}

async function runOn(deployment: Deployment, options: Options): Promise<boolean> {
  process.stdout.write(`Starting a server at ${deployment.url} …\n`)
  const seconds = await deployment.start()
  process.stdout.write(`It was ready after ${seconds.toFixed(1)} s; seed ${options.seed}.\n`)
  const apiKey = await makeApiKey(deployment)
  if (options.kills > 0) return runKills(deployment, apiKey, options)
  return runStory(deployment.url, openAdmin(deployment.url, apiKey), options)
}

/** Rejects when somebody stops us, so that what we started and wrote is cleaned up. */
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
