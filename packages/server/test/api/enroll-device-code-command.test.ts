import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEnrollCommand } from '../support/clients/enroll-command.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { startRealProvider } from '../support/providers/real-oidc-provider.ts'

test('holdfast device enroll --device-code: somebody approves the machine at oidc-provider, or refuses', async (t) => {
  const idp = await startRealProvider(t, {
    clients: [
      {
        client_id: 'holdfast',
        client_secret: 'known to two',
        redirect_uris: [],
        response_types: [],
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      },
    ],
    people: { anna: { name: 'Anna' } },
  })
  const kit = await startKit(t, { config: { allowedPrivateCidrs: ['127.0.0.0/8'] } })
  const provider = await kit.admin.createIdentityProvider({
    body: {
      kind: 'oidc',
      name: 'staff',
      enrollment: true,
      provisioning: 'create',
      claims: { username: 'sub', email: 'email', display_name: 'name', groups: 'groups' },
      oidc: {
        issuer: idp.issuer,
        client_id: 'holdfast',
        client_secret: 'known to two',
        scopes: ['openid', 'profile'],
        device_code: 'on',
      },
    },
  })
  const command = await startEnrollCommand(t, kit)
  const run = (args: string[], login: string) =>
    command.run(['--device-code', ...args], {
      shown: /http:\/\/127\.0\.0\.1:\d+\/device\?user_code=\S+/,
      does: (url) => idp.approve(url, login),
    })
  const state = command.file('device.json')
  const [enrolled, denied, unknown] = await Promise.all([
    run(['--state', state, '--name', 'rack-7', '--platform', 'linux'], 'anna'),
    run(['--state', command.file('other.json')], 'nobody'),
    run(['--state', command.file('other.json'), '--provider', 'guests'], 'anna'),
  ])
  assert.equal(enrolled.code, 0, enrolled.err)
  assert.match(enrolled.err, /enter the code [B-Z]{4}-[B-Z]{4}/)
  assert.match(enrolled.err, /only if you began this yourself/)
  assert.match(enrolled.err, /Waiting for approval, 1\d min at most/)
  const { device, user, claims } = await command.saved(state)
  const by = { provider_id: provider.provider_id, provider_name: provider.name }
  assert.deepEqual(device.enrolled_by, { method: 'device_code', token_id: null, token_name: null, ...by })
  assert.deepEqual([user.username, user.source, device.name, claims.enr], ['anna', 'sso', 'rack-7', 'device_code'])
  assert.equal(denied.code, 1)
  assert.match(denied.err, /The person did not approve this machine\./)
  assert.match(unknown.err, /No identity provider called guests enrolls devices this way; these do: staff/)
  assert.equal((await kit.admin.listDevices()).items.length, 1)
})
