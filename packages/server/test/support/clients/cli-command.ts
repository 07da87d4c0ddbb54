import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { runCli } from '@holdfast/cli/program'
import type { Kit } from '../deployment/deployment.ts'
import { reachedBy } from './global-dispatcher.ts'

/** The command of an administrator, which reaches the deployment under its public name; and a folder for its files. */
export async function startCommand(t: TestContext, kit: Kit) {
  reachedBy(t, kit.dispatcher)
  const home = await mkdtemp(join(tmpdir(), 'holdfast-command-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  const runWith = async (args: string[], answer?: () => Promise<string>) => {
    const said = { out: '', err: '' }
    const input = Object.assign(new PassThrough(), { isTTY: answer !== undefined })
    if (!answer) input.end()
    const collect = (name: 'out' | 'err') =>
      new Writable({
        write: (chunk, _encoding, done) => {
          said[name] += String(chunk)
          if (answer && String(chunk).includes('[y/N]')) void answer().then((line) => input.end(`${line}\n`))
          done()
        },
      })
    const env = { HOME: home, HOLDFAST_URL: kit.publicUrl, HOLDFAST_API_KEY: kit.adminKey }
    const code = await runCli(args, { input, output: collect('out'), errors: collect('err'), env })
    return { code, ...said }
  }
  return {
    file: (name: string) => join(home, name),
    run: (...args: string[]) => runWith(args),
    /** Runs the command as on a terminal, with an answer to its confirmation prompt. */
    runAnswering: (answer: () => Promise<string>, ...args: string[]) => runWith(args, answer),
  }
}
