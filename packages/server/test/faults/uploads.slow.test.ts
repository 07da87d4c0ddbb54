import assert from 'node:assert/strict'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { signIn } from '@holdfast/sdk'
import pg from 'pg'
import { dispatcherTo } from '../support/deployment/deployment.ts'
import { password, startDeployment } from '../support/deployment/server-processes.ts'
import { until } from '../support/deployment/wait-until.ts'
import { linux, pieces, randomContent, upload } from '../support/domain/releases.ts'

const publicUrl = 'http://holdfast.test'
const hours = 3_600_000

async function administrator(t: TestContext, port: number) {
  const dispatcher = dispatcherTo(`http://127.0.0.1:${port}`)
  t.after(() => dispatcher.destroy())
  return (await signIn({ baseUrl: publicUrl, username: 'admin', password, dispatcher })).client
}

test('a process that is killed while it receives one package and has stored another leaves nothing for good', async (t) => {
  const { database, folder, start } = await startDeployment(t)
  const environment = { HOLDFAST_PUBLIC_URL: publicUrl }
  const owner = new pg.Client({ connectionString: database.url })
  owner.on('error', () => {})
  await owner.connect()
  t.after(() => owner.end())
  const filesIn = async (name: string) => {
    const at = join(folder, 'packages', name)
    const found = await readdir(at, { recursive: true, withFileTypes: true }).catch(() => [])
    return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  }
  const states = async () =>
    (await owner.query('select state from package_blobs order by blob_id')).rows.map((r) => r.state)

  const killed = await start(database.url, environment)
  const before = await administrator(t, killed.port)
  const { release_id } = await before.createRelease({ body: { version: '1.0.0', channel: 'stable' } })
  const params = { params: { release_id } }
  const bytes = randomContent(300_000)
  async function* half() {
    yield* pieces(bytes)
    await new Promise(() => {})
  }
  const receiving = assert.rejects(
    before.uploadPackage({ ...params, query: { ...linux, filename: 'half' }, body: half() }),
  )
  await until(async () => (await filesIn('incoming')).length === 1, 'a package to arrive')
  await owner.query('begin; lock table release_packages in share mode')
  const storing = assert.rejects(upload(before, release_id, bytes, { filename: 'whole' }))
  await until(async () => (await filesIn('blobs')).length === 1, 'a content to be stored')
  killed.kill()
  assert.equal((await killed.end()).how, 'SIGKILL')
  await Promise.all([receiving, storing])
  await owner.query('commit')
  assert.deepEqual([(await filesIn('incoming')).length, (await filesIn('blobs')).length], [1, 1])
  assert.deepEqual(await states(), ['storing'])

  const next = await start(database.url, environment)
  const after = await administrator(t, next.port)
  assert.deepEqual((await after.listPackages(params)).items, [])
  const { package: made } = await upload(after, release_id, bytes, { filename: 'whole' })
  const sweep = () => owner.query(`select graphile_worker.add_job('sweep_packages')`)
  const long = new Date(Date.now() - 2 * hours)
  for (const file of await filesIn('incoming')) await utimes(file, long, long)
  await owner.query(`update package_blobs set since = since - interval '2 days' where state = 'storing'`)
  await sweep()
  await until(async () => (await states()).includes('removing'), 'what never became a package to be given up')
  await until(async () => (await filesIn('incoming')).length === 0, 'what was half received to be removed')
  await owner.query(`update package_blobs set since = since - interval '2 hours' where state = 'removing'`)
  await sweep()
  await until(async () => (await states()).length === 1, 'it to be removed')
  assert.deepEqual([(await filesIn('blobs')).length, await states()], [1, ['stored']])
  const parts = await Array.fromAsync(await after.updatePackage({ query: { target: made.package_id } }))
  assert.ok(Buffer.concat(parts).equals(bytes))
})
