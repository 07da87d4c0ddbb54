import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Role } from '@holdfast/contract/vocabulary'
import { defaultOidArc, type PasswordParams } from '@holdfast/crypto'
import { createClient } from '@holdfast/sdk'
import { type Agent, buildConnector } from 'undici'
import { bootstrap } from '../../../src/app/bootstrap.ts'
import { type App, createApp } from '../../../src/app/create-app.ts'
import type { Config } from '../../../src/config/config.ts'
import { deriveKeys, type Secrets } from '../../../src/config/secrets.ts'
import { migrate } from '../../../src/db/migrate.ts'
import type { MinimumRate } from '../../../src/http/connection/minimum-rate.ts'
import type { TenantId } from '../../../src/kernel/actor.ts'
import type { SnapshotSize } from '../../../src/modules/gateways/index.ts'
import { openPeppers, type Peppers } from '../../../src/modules/secrets/index.ts'
import type { Outbound } from '../../../src/outbound/outbound.ts'
import '../../statements/record.ts'
import { agentWith, type StatusCheck, watchStatuses } from '../clients/declared-statuses.ts'
import { createTestDatabase, type Template, withClient } from '../database/test-database.ts'
import { consoleOfRun } from './console-build.ts'
import { docsOfRun } from './docs-build.ts'
import { tokenOfRun } from './pkcs11-token.ts'
import { watchLeaks } from './resource-leaks.ts'

export const adminPassword = 'correct horse battery staple'
const unlimited = {
  requests_per_minute_per_key: 10_000_000,
  requests_per_minute_per_session: 10_000_000,
  requests_per_minute_per_device: 10_000_000,
  requests_per_minute_per_gateway: 10_000_000,
}
/** Most tests only need to know whether a password is right, so hashes are cheap. */
const cheap: PasswordParams = { m: 64, t: 1, p: 1 }
/** Factor for time limits: on a busy machine, twenty concurrent requests take far longer than in service. */
const busy = 5
const usualPublicUrl = 'http://holdfast.test'
/** A line of a master key file, in base64. */
export const masterKeyLine = (name: string): string => keyNamed(name).toString('base64')
const keyNamed = (name: string) => createHash('sha256').update(`of the tests: ${name}`).digest()
/** The secrets of a replica whose file has these master keys, by their names in the tests. */
export function secretsOf(...names: [string, ...string[]]): Secrets {
  const [first, ...others] = names
  const keys = deriveKeys([keyNamed(first), ...others.map(keyNamed)])
  const gatewayServiceSecrets = keys.masterKeys.map((key) => key.serviceSecret)
  return {
    ...keys,
    adminPassword,
    breakGlassPassword: undefined,
    bucketCredential: undefined,
    metricsToken: undefined,
    gatewayServiceSecrets,
  }
}
/** The master key of every kit in every process. All kits copy one first start, including its sealed secrets. */
export const usualMasterKey = 'master key'
const usual = secretsOf(usualMasterKey)
/** The peppers of that first start, the same in every copy. */
let usualPeppers: Promise<Peppers> | undefined
const configFor = (databaseUrl: string): Config => ({
  host: '127.0.0.1',
  port: 0,
  publicUrl: usualPublicUrl,
  publicUrlIsSet: true,
  otherOrigins: [],
  pki: undefined,
  metrics: undefined,
  oidArc: defaultOidArc,
  dataDir: '/nonexistent',
  consoleDir: undefined,
  docsDir: undefined,
  databaseUrl,
  databaseConnections: 4,
  trustedProxies: [],
  maxConnections: 10_000,
  authFailuresPerMinute: 10_000_000,
  tls: undefined,
  drainSeconds: 0,
  longestWaitSeconds: 300,
  logLevel: 'silent',
  masterKeyFile: '/nonexistent',
  packages: { dir: '/nonexistent', bucket: undefined, largest: 64 * 1024 * 1024, largestOfTenant: 1024 * 1024 * 1024 },
  license: undefined,
  smtpUrl: undefined,
  pkcs11: undefined,
  keptDays: { audit: null, vpn_sessions: 90, telemetry: 30, metering: 400, revoked_devices: 90 },
  gatewaysKnow: new Set(['countries', 'services']),
  allowedPrivateCidrs: [],
})

/** An empty database with the current schema. */
export const schemaTemplate: Template = { name: 'holdfast_schema', prepare: async (url) => void (await migrate(url)) }
/** A deployment after its first start; every kit has a copy of it. */
const started: Template = {
  name: 'holdfast_started',
  from: schemaTemplate,
  prepare: async (url) => {
    const ignore = () => {}
    const log = { info: ignore, warn: ignore, error: ignore }
    const app = createApp({
      config: configFor(url),
      secrets: usual,
      peppers: await openPeppers(url, usual),
      databaseUrl: url,
      log,
      passwordCost: cheap,
      slowness: busy,
    })
    await app.start()
    await bootstrap(app, usual, ignore)
    const tenant = (await app.tenancy.tenantByName('default'))!
    // Lifts the API rate limit, which would slow the tests down.
    await app.db.inTenant(tenant, (tx) =>
      tx
        .updateTable('tenant_settings')
        .set({ security: JSON.stringify({ api: unlimited }) })
        .where('tenant_id', '=', tenant)
        .execute(),
    )
    await app.stop()
  },
}

/** The same without keys. Keys in a PKCS#11 token can't be copied, and are removed with their rows. */
const keyless: Template = {
  name: 'holdfast_started_keyless',
  from: started,
  prepare: (url) =>
    withClient(url, async (client) => {
      for (const table of ['crls', 'trust_sets', 'signing_keys']) await client.query(`delete from ${table}`)
    }),
}

/** A clock that tests advance; otherwise it runs normally. */
export function createClock(offset = 0) {
  return { now: () => new Date(Date.now() + offset), advance: (seconds: number) => (offset += seconds * 1000) }
}

/** `pkiUrl` serves the addresses in certificates, if enabled; `metricsUrl` serves the metrics. */
export type Replica = {
  app: App
  url: string
  pkiUrl: string
  metricsUrl: string
  dispatcher: Agent
  peppers: Peppers
  stop: () => Promise<void>
}
/** Runs a background job now and returns the amount of work that it reports. */
export const runJob = async ({ jobs }: Pick<App, 'jobs'>, name: string): Promise<number> =>
  Number(await jobs.find((job) => job.name === name)!.run())

export type Kit = Awaited<ReturnType<typeof startKit>>

/** A running deployment on its own database: real PostgreSQL and real HTTP. It ends with the test. */
export async function startKit(
  t: TestContext,
  options: {
    replicas?: number
    now?: () => Date
    config?: Partial<Config>
    /** The database URL for the nth replica; by default the database's own. */
    route?: (databaseUrl: string, n: number) => string | Promise<string>
    /** Snapshot sizes by replica; a missing one has the default. */
    snapshotSizes?: readonly SnapshotSize[]
    /** Time after which an idle tenant leaves memory, in ms. */
    idleMs?: number
    /** For tests that depend on the cost of a hash. */
    passwordCost?: PasswordParams
    /** 1 for tests that depend on time limits of the database, such as those with a disturbed network. */
    slowness?: number
    /** The client for outbound requests. */
    outbound?: Outbound
    /** False if the web console and the documentation have not been built. */
    hasConsole?: boolean
    /** Minimum transfer rate of package uploads and downloads. */
    pace?: MinimumRate
    /** Overrides of the storage and the size limits of packages. */
    packages?: Partial<Config['packages']>
    secrets?: Partial<Pick<Secrets, 'bucketCredential' | 'metricsToken'>>
  } = {},
) {
  const { pkcs11 = tokenOfRun, publicUrl = usualPublicUrl } = options.config ?? {}
  const database = await createTestDatabase(pkcs11 ? keyless : started)
  const packagesDir = await mkdtemp(join(tmpdir(), 'holdfast-packages-'))
  const nothingIsLeft = watchLeaks()
  const statuses = watchStatuses()
  const logs: string[] = []
  const note = (o: object, message: string) => void logs.push(`${message} ${JSON.stringify(o, errors)}`)
  const log = { info: note, warn: note, error: note }
  const replicas: Replica[] = []
  const startReplica = async (secrets = usual): Promise<Replica> => {
    const databaseUrl = (await options.route?.(database.url, replicas.length)) ?? database.url
    const packages = { ...configFor(databaseUrl).packages, dir: packagesDir, ...options.packages }
    // Each connection reads the catalog anew. Tests with several replicas are about concurrent requests.
    const databaseConnections = (options.replicas ?? 1) > 1 ? 10 : 4
    const config: Config = { ...configFor(databaseUrl), databaseConnections, packages, pkcs11, ...options.config }
    const snapshotSize = options.snapshotSizes?.[replicas.length]
    usualPeppers ??= openPeppers(database.url, usual)
    const peppers = await (secrets === usual ? usualPeppers : openPeppers(databaseUrl, secrets))
    const app = createApp({
      config,
      secrets: { ...secrets, ...options.secrets },
      peppers,
      databaseUrl,
      log,
      consoleBuild: options.hasConsole === false ? undefined : consoleOfRun,
      docsBuild: options.hasConsole === false ? undefined : docsOfRun,
      passwordCost: options.passwordCost ?? cheap,
      slowness: options.slowness ?? (options.route ? 1 : busy),
      ...(options.now && { now: options.now }),
      ...(options.outbound && { outbound: options.outbound }),
      ...(options.pace && { pace: options.pace }),
      ...(snapshotSize && { snapshotSize }),
      ...(options.idleMs !== undefined && { idleMs: options.idleMs }),
    })
    await app.start().catch(async (e: unknown) => {
      await app.stop()
      throw e
    })
    await bootstrap(app, secrets, () => {})
    const url = await app.http.listen({ host: '127.0.0.1', port: config.port })
    const dispatcher = dispatcherTo(url, undefined, statuses)
    let stopping: Promise<void> | undefined
    const stop = () => {
      stopping ??= dispatcher.destroy().then(app.stop)
      return stopping
    }
    const [pkiUrl, metricsUrl] = await Promise.all(
      (['pki', 'metrics'] as const).map(async (name) => {
        const listener = app.listeners[name]
        await listener?.listen(config[name]?.port ?? 0, '127.0.0.1')
        return `http://127.0.0.1:${(listener?.server.address() as AddressInfo | undefined)?.port}`
      }),
    )
    const replica = { app, url, pkiUrl: pkiUrl!, metricsUrl: metricsUrl!, dispatcher, peppers, stop }
    replicas.push(replica)
    return replica
  }
  const first = await startReplica()
  for (let i = 1; i < (options.replicas ?? 1); i++) await startReplica()
  const ends: (() => unknown)[] = []
  t.after(async () => {
    for (const end of ends) await end()
    for (const { stop } of replicas) await stop()
    await database.drop()
    await rm(packagesDir, { recursive: true })
    await nothingIsLeft()
    statuses.assertDeclared()
    // The test runner keeps the closures of all tests, and so would keep each deployment in memory.
    for (const held of [...replicas, kit]) Object.assign(held, { app: undefined, db: undefined })
  })

  const tenant = (await first.app.tenancy.tenantByName('default'))!
  const keyFor = (role: Role, of: TenantId = tenant) =>
    first.app.access.createKeyFor(of, { name: `test ${role}`, role })
  const adminKey = await keyFor('platform_admin')
  const clientFor = (credential: string, replica: Replica = first) =>
    createClient({ baseUrl: publicUrl, credential, dispatcher: replica.dispatcher })
  const kit = {
    ...first,
    replicas,
    startReplica,
    /** Runs a clean-up before the deployment ends. */
    after: (end: () => unknown) => void ends.push(end),
    /** Waits until every replica has read all changes committed so far. */
    heard: async () => void (await Promise.all(replicas.map(({ app }) => app.feed.catchUp()))),
    databaseUrl: database.url,
    packagesDir,
    db: first.app.db,
    secrets: usual,
    publicUrl,
    tenant,
    adminKey,
    /** The client of a platform administrator. */
    admin: clientFor(adminKey),
    clientFor,
    keyFor,
    as: async (role: Role, of: TenantId = tenant) => clientFor(await keyFor(role, of)),
    newTenant: async (name = `tenant-${randomBytes(4).toString('hex')}`): Promise<TenantId> => {
      const made = await first.app.tenancy.createTenant(name)
      await first.app.trust.provision(made)
      return made
    },
    /** All log lines, for tests that look for secrets. */
    logs,
  }
  return kit
}

/**
 * A dispatcher for requests to the public URL, as proofs and cookies require it. It connects to the given replica, if
 * given from another loopback address. `statuses` checks the status of each answer.
 */
export function dispatcherTo(url: string, localAddress?: string, statuses?: StatusCheck): Agent {
  const { hostname, port } = new URL(url)
  const connect = buildConnector({})
  const there = { hostname, port, ...(localAddress && { localAddress }) }
  return agentWith(statuses, { connect: (options, callback) => connect({ ...options, ...there }, callback) })
}

const errors = (_: string, value: unknown) =>
  value instanceof Error ? { message: value.message, stack: value.stack } : value

export const times = <T>(n: number, work: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, (_, i) => work(i)))

/** Configuration that lets outbound requests reach fake providers and receivers on loopback. */
export const loopbackAllowed = { allowedPrivateCidrs: ['127.0.0.0/8'] }
