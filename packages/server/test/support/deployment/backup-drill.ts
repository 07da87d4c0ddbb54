import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { startShell } from '@holdfast/cli/test/shell'
import { Agent, buildConnector } from 'undici'
import { createTestDatabase } from '../database/test-database.ts'
import { type Kit, masterKeyLine, startKit, usualMasterKey } from './deployment.ts'

/** A folder with a master key file and an identity, and an operator's command line in it. */
export async function startOperator(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-backup-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = (name: string) => join(folder, name)
  await writeFile(file('master.key'), `${masterKeyLine(usualMasterKey)}\n`)
  const shell = await startShell(t, { HOLDFAST_DATA_DIR: folder })
  const { out } = await shell.run(['--json', 'backup', 'keygen', '--out', file('backup.key')])
  const { recipient } = JSON.parse(out) as { recipient: string }
  type Env = Record<string, string>
  const run = (env: Env, ...args: string[]) => shell.run(args, { env })
  return {
    file,
    recipient,
    run,
    backUp: (databaseUrl: string, name: string, env: Env = {}) =>
      run({ DATABASE_URL: databaseUrl, ...env }, 'backup', file(name), '--recipient', recipient),
    restore: (databaseUrl: string, name: string, env: Env = {}) =>
      run({ DATABASE_URL: databaseUrl, ...env }, 'restore', file(name), '--identity', file('backup.key')),
    verify: (name: string, env: Env = {}) => run(env, 'backup', 'verify', file(name), '--identity', file('backup.key')),
  }
}

/** A context for resources that must end before the deployment does: they end newest first. */
export function within(kit: Kit): TestContext {
  const ends: (() => unknown)[] = []
  kit.after(async () => {
    for (const end of ends.reverse()) await end()
  })
  return { after: (end: () => unknown) => void ends.push(end) } as unknown as TestContext
}

/** Creates an empty database, dropped at the end of the test. */
export async function emptyDatabase(t: TestContext): Promise<string> {
  const { url, drop } = await createTestDatabase()
  t.after(drop)
  return url
}

/** A deployment to back up, and helpers to restore its backup and start a server on it. */
export async function startDrill(t: TestContext, options: Parameters<typeof startKit>[1] = {}) {
  const kit = await startKit(t, options)
  const beside = within(kit)
  const operator = await startOperator(t)
  return {
    kit,
    file: operator.file,
    backUp: async () => {
      const { code, err } = await operator.backUp(kit.databaseUrl, 'one.age')
      assert.equal(code, 0, err)
    },
    restore: async (): Promise<Kit> => {
      for (const replica of kit.replicas) await replica.stop()
      const url = await emptyDatabase(beside)
      const { code, err } = await operator.restore(url, 'one.age')
      assert.equal(code, 0, err)
      const drill = await startKit(beside, { ...options, route: () => url, slowness: 5 })
      return { ...drill, databaseUrl: url, adminKey: kit.adminKey, admin: drill.clientFor(kit.adminKey) }
    },
  }
}

/** Leads to one deployment first and to another later, like a DNS name whose address changes. */
export function movable(t: TestContext, first: string) {
  const connect = buildConnector({})
  let url = new URL(first)
  const dispatcher = new Agent({
    connect: (options, callback) => connect({ ...options, hostname: url.hostname, port: url.port }, callback),
  })
  t.after(() => dispatcher.destroy())
  return {
    dispatcher,
    moveTo: (next: string): void => {
      url = new URL(next)
    },
  }
}
