import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { bootstrap } from '../../src/app/bootstrap.ts'
import { createApp } from '../../src/app/create-app.ts'
import { parseConfig } from '../../src/config/config.ts'
import { deriveKeys, type Secrets } from '../../src/config/secrets.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPeppers } from '../../src/modules/secrets/index.ts'
import { createNetwork } from '../support/database/network-faults.ts'
import { createTestDatabase } from '../support/database/test-database.ts'

const quiet = { info() {}, warn() {}, error() {} }

export const makeSecrets = (): Secrets => ({
  ...deriveKeys([randomBytes(32)]),
  adminPassword: undefined,
  breakGlassPassword: undefined,
  gatewayServiceSecrets: [randomBytes(32).toString('base64url')],
  bucketCredential: undefined,
  metricsToken: undefined,
})

/** Starts a replica on this database until sign-in is possible. Returns the passwords that it announced. */
export async function startOnce(url: string, secrets: Secrets): Promise<string[]> {
  const announced: string[] = []
  await migrate(url)
  const config = parseConfig({ DATABASE_URL: url, HOLDFAST_DRAIN_SECONDS: '0' })
  const peppers = await openPeppers(url, secrets)
  const app = createApp({ config, secrets, peppers, databaseUrl: url, log: quiet })
  try {
    await app.start()
    await bootstrap(app, secrets, ({ password }) => announced.push(password))
    const tenant = await app.tenancy.tenantByName('default')
    assert.ok(tenant && (await app.trust.versionOf(tenant)) >= 1)
    const admins = await app.db.inTenant(tenant, (tx) =>
      tx.selectFrom('user_roles').select('user_id').where('tenant_id', '=', tenant).execute(),
    )
    assert.equal(admins.length, 1)
  } finally {
    await app.stop()
  }
  return announced
}

/** Runs first starts on new databases. Each is ended before another statement, and the next start completes it. */
export async function endFirstStarts(t: TestContext, { from, step }: { from: number; step: number }) {
  let [ended, survived] = [0, 0]
  for (let statement = from; ; statement += step) {
    const database = await createTestDatabase()
    t.after(database.drop)
    const network = await createNetwork(t, database.url)
    const secrets = makeSecrets()
    network.endBefore(statement)
    const first = await startOnce(network.url, secrets).catch(() => undefined)
    if (!network.hasEnded()) break
    if (first) survived++
    else ended++
    network.mend()
    const second = await startOnce(network.url, secrets)
    // Connections are refused after the end, so a start that survived was complete: only its shutdown was interrupted.
    if (first) assert.deepEqual([first.length > 0, second], [true, []])
    assert.ok(statement < 1000, 'it never ends')
  }
  assert.ok(ended > 1 && survived < ended, `${ended} starts ended, ${survived} survived`)
  console.log(`# first start: ended by ${ended} statements and completed by the next start, ${survived} survived`)
}
