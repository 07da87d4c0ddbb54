import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser } from '../support/clients/browser.ts'
import { startEnrollCommand } from '../support/clients/enroll-command.ts'
import { startSaml } from '../support/providers/saml-idp.ts'

test('holdfast device enroll --saml: a person signs in, our page hands it on, and the device is theirs', async (t) => {
  const { kit, provider, acs, answer } = await startSaml(t, { settings: { enrollment: true } })
  const command = await startEnrollCommand(t, kit)

  /** The steps of a person at the address that the command shows: the provider, our page, and its button. */
  const statuses: number[] = []
  const person = async (url: string) => {
    const page = await openBrowser(kit).post(acs, answer(url))
    const [, action = ''] = /<form method="post" action="([^"]*)">/.exec(page.text) ?? []
    const fields = [...page.text.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value])
    const form = Object.fromEntries(fields) as Record<string, string>
    const press = async (body: Record<string, string>) =>
      statuses.push((await fetch(action, { method: 'POST', body: new URLSearchParams(body) })).status)
    await press({ ...form, RelayState: 'of another' })
    await press(form)
  }
  const run = (args: string[]) => command.run(args, { shown: /https:\/\/idp\.example\/sso\S+/, does: person })
  const state = command.file('device.json')
  const enrolled = await run(['--saml', '--state', state, '--name', 'lap', '--platform', 'linux'])
  assert.equal(enrolled.code, 0, enrolled.err)
  assert.deepEqual(statuses, [404, 200], 'what is not its answer is told nothing')
  const { device, claims } = await command.saved(state)
  const by = { provider_id: provider.provider_id, provider_name: provider.name }
  assert.deepEqual(device.enrolled_by, { method: 'saml', token_id: null, token_name: null, ...by })
  assert.equal(claims.enr, 'saml')

  const unknown = await run(['--saml', '--state', command.file('other.json'), '--provider', 'guests'])
  assert.match(unknown.err, /No identity provider called guests enrolls devices this way; these do: Login/)
  assert.match(
    (await run(['--saml', '--oidc', '--state', command.file('other.json')])).err,
    /Either --oidc, --saml or --device-code/,
  )
})
