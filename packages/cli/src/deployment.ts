import type {
  backUp,
  fenceDatabase,
  isForOperator,
  makeIdentity,
  restore,
  Told,
  verify,
} from '@holdfast/server/backup/index'
import type { Cli } from './cli.ts'
import { UsageError } from './exit.ts'
import { readText } from './files.ts'
import { plain } from './text.ts'

type Deployment = {
  backUp: typeof backUp
  fenceDatabase: typeof fenceDatabase
  isForOperator: typeof isForOperator
  makeIdentity: typeof makeIdentity
  restore: typeof restore
  verify: typeof verify
}

/** Interval of progress messages (ms). */
const tellEveryMs = 2000

/** Works on the deployment itself, beside its server. The server's code is loaded only here. */
export async function offline<T>(cli: Cli, work: (deployment: Deployment, told: Told) => Promise<T>): Promise<T> {
  const deployment: Deployment = await import('@holdfast/server/backup/index')
  let toldAt = performance.now()
  const told: Told = {
    note: cli.note,
    progress: (sentence) => {
      if (performance.now() - toldAt < tellEveryMs) return
      toldAt = performance.now()
      cli.note(plain(sentence))
    },
  }
  try {
    return await work(deployment, told)
  } catch (e) {
    if (deployment.isForOperator(e)) throw new UsageError((e as Error).message)
    throw e
  }
}

/** Returns the lines of a file without blank lines and comments. */
export async function readLines(file: string): Promise<string[]> {
  const lines = (await readText(file)).split('\n').map((line) => line.trim())
  const found = lines.filter((line) => line !== '' && !line.startsWith('#'))
  if (found.length === 0) throw new UsageError(`${file} is empty.`)
  return found
}
