import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { runCli } from '@holdfast/cli/program'
import { peekDeviceCredential } from '@holdfast/crypto'
import { Agent, buildConnector } from 'undici'
import type { Kit } from '../deployment/deployment.ts'
import { reachedBy } from './global-dispatcher.ts'

type Person = { shown: RegExp; does: (url: string) => Promise<unknown> }

/** Runs `holdfast device enroll` with a bootstrap token, and the person who opens the address that it shows. */
export async function startEnrollCommand(t: TestContext, kit: Kit) {
  const { hostname, port } = new URL(kit.url)
  const plain = buildConnector({})
  // The command reaches the deployment under its public name, and providers at their own addresses.
  const both = new Agent({
    connect: (to, callback) => plain(to.hostname === 'holdfast.test' ? { ...to, hostname, port } : to, callback),
  })
  reachedBy(t, both)
  const home = await mkdtemp(join(tmpdir(), 'holdfast-enroll-'))
  t.after(async () => {
    await both.destroy()
    await rm(home, { recursive: true, force: true })
  })
  const { secret: token } = await kit.admin.generateToken({ body: { kind: 'bootstrap' } })

  return {
    token,
    /** The path of a file for the saved device. */
    file: (name: string) => join(home, name),
    run: async (args: string[], { shown, does }: Person) => {
      const said = { out: '', err: '' }
      let person: Promise<unknown> | undefined
      const collect = (name: 'out' | 'err') =>
        new Writable({
          write: (chunk, _encoding, done) => {
            said[name] += String(chunk)
            const [url] = shown.exec(said.err) ?? []
            if (url && !person) person = does(url)
            done()
          },
        })
      const input = new PassThrough()
      input.end(`${token}\n`)
      const env = { HOME: home, HOLDFAST_URL: kit.publicUrl }
      const streams = { input, output: collect('out'), errors: collect('err'), env }
      const code = await runCli(['device', 'enroll', ...args], streams)
      await person
      return { code, ...said }
    },
    /** The device and its user in the deployment, and the claims of the credential, for a device saved in a file. */
    saved: async (path: string) => {
      const { deviceId, credential } = JSON.parse(await readFile(path, 'utf8'))
      const device = await kit.admin.getDevice({ params: { device_id: deviceId } })
      const user = await kit.admin.getUser({ params: { user_id: String(device.user_id) } })
      return { device, user, claims: peekDeviceCredential(credential).claims }
    },
  }
}
