import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Client, changeIdentityProvider, signIn } from '@holdfast/sdk'
import type { Config } from '../../packages/server/src/config/config.ts'
import { enroll } from '../../packages/server/test/support/actors/devices.ts'
import {
  adminPassword,
  type Kit,
  loopbackAllowed,
  masterKeyLine,
  startKit,
  usualMasterKey,
} from '../../packages/server/test/support/deployment/deployment.ts'
import { rule } from '../../packages/server/test/support/domain/policy.ts'
import { startRealProvider } from '../../packages/server/test/support/providers/real-oidc-provider.ts'
import { startSyslogReceiver } from '../../packages/server/test/support/providers/siem-receivers.ts'
import { startSmtpListener } from '../../packages/server/test/support/providers/smtp-listener.ts'
import { startReceiver } from '../../packages/server/test/support/providers/webhook-receiver.ts'
import type { Scene } from './run-page.ts'

/** Starts a server whose public URL is its real address, and a mail server that it uses. */
export async function startDeployment(t: TestContext, config: Partial<Config> = {}): Promise<Kit> {
  const [port, smtp] = await Promise.all([freePort(), startSmtpListener(t)])
  const smtpUrl = `smtp://127.0.0.1:${smtp.port}`
  const publicUrl = `http://127.0.0.1:${port}`
  return await startKit(t, { config: { ...loopbackAllowed, smtpUrl, port, publicUrl, ...config } })
}

function freePort(): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}

/** The scene of a reader, and a client that is signed in as the reader. */
type Ground = { scene: Scene; reader: Client }

const tenantPassword = 'correct horse battery of a reader'
let tenants = 0

/** The reader is the administrator of a new tenant. */
async function inTenant(kit: Kit): Promise<Ground> {
  const name = `example-${++tenants}`
  await kit.admin.changeTenant({
    body: { operation: 'create', tenant: { name }, administrator: { username: 'admin', password: tenantPassword } },
  })
  return await groundOf(kit, `${name}/admin`, tenantPassword, { TENANT: name })
}

/** The reader is the first administrator of a deployment. */
const onPlatform = (kit: Kit): Promise<Ground> => groundOf(kit, 'admin', adminPassword, {})

async function groundOf(kit: Kit, username: string, password: string, variables: Scene['variables']): Promise<Ground> {
  const { client, cookie, user, expiresAt } = await signIn({ baseUrl: kit.publicUrl, username, password })
  const scene = {
    addresses: { 'http://127.0.0.1:8080': kit.publicUrl, 'https://vpn.example.com': kit.publicUrl },
    signIn: { url: kit.publicUrl, session: { cookie, username: user.username, expires_at: expiresAt } },
    variables: { PASSWORD: password, ...variables },
    files: {},
    checks: '',
  }
  return { scene, reader: client }
}

/** Adds something that a page needs to the deployment that its reader uses. */
export type SetUp = (t: TestContext, kit: Kit, reader: Client) => Promise<Partial<Scene>>

/** Set-ups besides the deployment, by the name that pages write. */
const others: Readonly<Record<string, SetUp>> = {
  /** A receiver of webhooks. */
  webhook: async (t) => ({ variables: { WEBHOOK_URL: (await startReceiver(t, 204)).url } }),
  /** Every deployment has a mail server. */
  smtp: async () => ({}),
  /** A syslog receiver with TLS, and the certificate of its authority. */
  syslog: async (t) => {
    const { key, cert } = selfSigned('localhost')
    const { port } = await startSyslogReceiver(t, { tls: { key, cert } })
    return { variables: { SYSLOG_HOST: 'localhost', SYSLOG_PORT: String(port) }, files: { 'ca.pem': cert } }
  },
  /** The environment and the files of the machine on which the server runs. */
  'server-shell': async (_, kit) => ({
    variables: {
      DATABASE_URL: kit.databaseUrl,
      HOLDFAST_MASTER_KEY_FILE: 'master.key',
      HOLDFAST_PACKAGES_DIR: kit.packagesDir,
    },
    files: { 'master.key': `${masterKeyLine(usualMasterKey)}\n` },
  }),
  metrics: async (_, kit) => ({ addresses: { 'http://127.0.0.1:9464': kit.metricsUrl } }),
  pki: async () => ({}),
  /** The device `anna-laptop`, and a policy that lets it reach 10.0.0.0/8 through the pool `eu`, which has no gateway. */
  'device-without-gateway': async (_, kit, reader) => {
    await reader.createGatewayPool({ body: { name: 'eu', region: { code: 'eu-central' } } })
    const policy = { schema: 'holdfast.policy/1', rules: [rule('ssh', { any: true }, ['eu'])] }
    await reader.publishPolicy({ body: { channel: 'stable', policy } })
    await enroll(kit, 'anna-laptop', { admin: reader })
    return {}
  },
  /** An identity provider with which people sign in. */
  provider: async (t, _, reader) => {
    const secret = 'a secret between two servers'
    const client = { client_id: 'holdfast', client_secret: secret, redirect_uris: ['http://127.0.0.1/none'] }
    const { issuer } = await startRealProvider(t, { clients: [client], people: {} })
    const oidc = { issuer, client_id: 'holdfast', client_secret: secret }
    const body = { name: 'Login', kind: 'oidc', enabled: false, oidc } as const
    const { provider_id } = await reader.createIdentityProvider({ body })
    await changeIdentityProvider(reader, { params: { provider_id } }, { enabled: true })
    return {}
  },
}

/** Settings of the deployment that a set-up needs. A page with one of these has a deployment of its own. */
const settings: Readonly<Record<string, () => Promise<Partial<Config>>>> = {
  metrics: async () => ({ metrics: { host: '127.0.0.1', port: 0 } }),
  pki: async () => {
    const port = await freePort()
    // Certificates contain this address, and programs ask it for revoked ones.
    return { pki: { port, url: `http://127.0.0.1:${port}` } }
  },
}

/** Makes a key, and a certificate that is its own authority. */
export function selfSigned(host: string): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-certificate-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
  const made = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-keyout', key, '-out', cert, ...names],
  ])
  if (made.status !== 0) throw new Error(`openssl failed: ${made.stderr}`)
  const pair = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  rmSync(folder, { recursive: true })
  return pair
}

/** Prepares everything that a page names in its first lines, and then what `more` prepares. */
export async function prepareScene(
  t: TestContext,
  shared: Kit,
  setups: readonly string[],
  more: readonly SetUp[] = [],
): Promise<Scene> {
  const [first = '', ...rest] = setups
  const ground = { tenant: inTenant, platform: onPlatform }[first]
  if (!ground) throw new Error(`unknown set-up "${first}"`)
  const config: Partial<Config> = {}
  for (const name of rest) Object.assign(config, await settings[name]?.())
  const isOwn = first === 'platform' || Object.keys(config).length > 0
  const kit = isOwn ? await startDeployment(t, config) : shared
  let { scene, reader } = await ground(kit)
  const named = rest.map((name) => {
    const setUp = others[name]
    if (!setUp) throw new Error(`unknown set-up "${name}"`)
    return setUp
  })
  for (const setUp of [...named, ...more]) {
    const { variables, files, addresses, checks = '' } = await setUp(t, kit, reader)
    scene = {
      ...scene,
      variables: { ...scene.variables, ...variables },
      files: { ...scene.files, ...files },
      addresses: { ...scene.addresses, ...addresses },
      checks: `${scene.checks}${checks}\n`,
    }
  }
  return scene
}
