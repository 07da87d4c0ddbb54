import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Got, send } from '../../support/clients/raw-http.ts'
import { createProgram, freePort } from '../program.ts'
import { keycloakHome } from '../tools.ts'

const administrator = { username: 'admin', password: 'the first administrator of a test' }
/** Two Java programs take a minute of CPU; a busy machine needs much longer. */
const startsWithinMs = 400_000

/** A Keycloak of our own. Its database and its port are removed with it, and the distribution stays unchanged. */
export async function startKeycloak() {
  const home = keycloakHome() ?? ''
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-keycloak-'))
  mkdirSync(join(directory, 'data'))
  // `kc.sh` uses its parent folder as its home.
  for (const name of ['bin', 'conf']) cpSync(join(home, name), join(directory, name), { recursive: true })
  for (const name of ['lib', 'providers', 'themes']) symlinkSync(join(home, name), join(directory, name))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const { start, stop } = createProgram({
    name: 'Keycloak',
    command: 'sh',
    args: [join(directory, 'bin/kc.sh'), 'start-dev', '--http-host=127.0.0.1', `--http-port=${port}`],
    env: {
      KC_BOOTSTRAP_ADMIN_USERNAME: administrator.username,
      KC_BOOTSTRAP_ADMIN_PASSWORD: administrator.password,
    },
    log: join(directory, 'log'),
    answers: () => answers(url),
    startsWithinMs,
  })

  let token = { value: '', until: 0 }
  /** Sends a request to the admin API as its first administrator. Throws with the answer if it is refused. */
  async function admin(method: string, path: string, body: { json?: unknown; xml?: string } = {}): Promise<Got> {
    if (token.until < performance.now()) {
      const form = { grant_type: 'password', client_id: 'admin-cli', ...administrator }
      const asked = performance.now()
      const got = await send(url, { method: 'POST', path: '/realms/master/protocol/openid-connect/token', form })
      token = { value: String(got.json.access_token), until: asked + 30_000 }
    }
    const headers = { authorization: `Bearer ${token.value}` }
    const got = await send(url, { method, path: `/admin${path}`, headers, ...body })
    if (got.status >= 300) throw new Error(`Keycloak: ${method} ${path}: ${got.status} ${got.text}`)
    return got
  }

  try {
    await start()
  } catch (e) {
    await stop()
    rmSync(directory, { recursive: true })
    throw e
  }
  return {
    url,
    admin,
    /** Ends it abruptly, as in a failure of its machine; it keeps its database. */
    stop,
    start,
    end: async () => {
      await stop()
      rmSync(directory, { recursive: true })
    },
  }
}
export type Keycloak = Awaited<ReturnType<typeof startKeycloak>>

const answers = (url: string): Promise<boolean> =>
  send(url, { path: '/realms/master/.well-known/openid-configuration' }).then(
    ({ status }) => status === 200,
    () => false,
  )
