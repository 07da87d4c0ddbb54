import { type AddressInfo, createServer } from 'node:net'
import type { TestContext } from 'node:test'
import { signIn } from '@holdfast/sdk'
import {
  adminPassword,
  type Kit,
  loopbackAllowed,
  startKit,
} from '../../packages/server/test/support/deployment/deployment.ts'
import type { Scene } from './run-page.ts'

/** A running server whose public URL is its real address, as a reader has it. */
export async function startDeployment(t: TestContext): Promise<Kit> {
  const port = await freePort()
  return await startKit(t, { config: { ...loopbackAllowed, port, publicUrl: `http://127.0.0.1:${port}` } })
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

const tenantPassword = 'correct horse battery of a reader'
let tenants = 0

/** The reader is the administrator of a new tenant. */
async function inTenant(kit: Kit): Promise<Scene> {
  const name = `example-${++tenants}`
  await kit.admin.changeTenant({
    body: { operation: 'create', tenant: { name }, administrator: { username: 'admin', password: tenantPassword } },
  })
  return await sceneOf(kit, `${name}/admin`, tenantPassword, { TENANT: name })
}

/** The reader is the first administrator of a deployment. */
const onPlatform = (kit: Kit): Promise<Scene> => sceneOf(kit, 'admin', adminPassword, {})

async function sceneOf(
  kit: Kit,
  username: string,
  password: string,
  variables: Record<string, string>,
): Promise<Scene> {
  const { cookie, user, expiresAt } = await signIn({ baseUrl: kit.publicUrl, username, password })
  return {
    url: kit.publicUrl,
    signIn: { url: kit.publicUrl, session: { cookie, username: user.username, expires_at: expiresAt } },
    variables: { PASSWORD: password, ...variables },
  }
}

type SetUp = (kit: Kit, scene: Scene, t: TestContext) => Promise<Record<string, string>>
/** Set-ups besides the deployment, by the name that pages write. Each returns variables of the page. */
const others: Readonly<Record<string, SetUp>> = {}

/** Prepares everything that a page names in its first lines. */
export async function prepareScene(t: TestContext, shared: Kit, setups: readonly string[]): Promise<Scene> {
  const [first = '', ...rest] = setups
  const ground = { tenant: async () => inTenant(shared), platform: async () => onPlatform(await startDeployment(t)) }[
    first
  ]
  if (!ground) throw new Error(`unknown set-up "${first}"`)
  let scene = await ground()
  for (const name of rest) {
    const setUp = others[name]
    if (!setUp) throw new Error(`unknown set-up "${name}"`)
    scene = { ...scene, variables: { ...scene.variables, ...(await setUp(shared, scene, t)) } }
  }
  return scene
}
