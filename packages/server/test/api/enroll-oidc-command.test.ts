import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { beginOidcEnrollment } from '@holdfast/sdk'
import { startEnrollCommand } from '../support/clients/enroll-command.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { startRealProvider } from '../support/providers/real-oidc-provider.ts'

test('holdfast device enroll --oidc: a person signs in at oidc-provider, and the device is theirs', async (t) => {
  const redirect_uris = ['http://127.0.0.1/callback']
  const idp = await startRealProvider(t, {
    clients: [{ client_id: 'laptops', redirect_uris, application_type: 'native' }],
    people: { anna: { name: 'Anna' }, ben: {} },
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
        scopes: ['openid', 'profile'],
        mobile_client_ids: ['laptops'],
      },
    },
  })
  const command = await startEnrollCommand(t, kit)
  const { token, file } = command
  const run = (args: string[], login: string) =>
    command.run(['--oidc', ...args], {
      shown: /http:\/\/127\.0\.0\.1:\d+\/auth\S+/,
      does: async (url) => fetch(await idp.signIn(url, login)),
    })
  const state = file('device.json')
  const enrolled = await run(['--state', state, '--name', 'lap', '--platform', 'linux'], 'anna')
  assert.equal(enrolled.code, 0, enrolled.err)
  const { device, user, claims } = await command.saved(state)
  const by = { provider_id: provider.provider_id, provider_name: provider.name }
  assert.deepEqual(device.enrolled_by, { method: 'oidc', token_id: null, token_name: null, ...by })
  assert.deepEqual([user.username, user.source, device.name, claims.enr], ['anna', 'sso', 'lap', 'oidc'])
  assert.equal((await kit.admin.listTokens()).items[0]?.uses, 0, 'a bootstrap token only begins')

  const denied = await run(['--state', file('other.json')], 'nobody')
  assert.equal(denied.code, 1)
  assert.match(denied.err, /did not sign you in: access_denied/)
  const unknown = await run(['--state', file('other.json'), '--provider', 'guests'], 'anna')
  assert.equal(unknown.code, 3)
  assert.match(unknown.err, /No identity provider called guests enrolls devices this way; these do: staff/)

  // The same with the library and an ID token that the application got by itself. The token enrolls no other key.
  const [mine, others] = await Promise.all(
    [1, 2].map(() => beginOidcEnrollment({ baseUrl: kit.publicUrl, credential: token, dispatcher: kit.dispatcher })),
  )
  const redirect_uri = 'http://127.0.0.1/callback'
  const code_verifier = 'v'.repeat(64)
  const asked = new URL(`${idp.issuer}/auth`)
  const parameters = {
    response_type: 'code',
    client_id: 'laptops',
    redirect_uri,
    scope: 'openid',
    nonce: mine!.nonce,
    state: 's',
    code_challenge_method: 'S256',
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
  }
  for (const [name, value] of Object.entries(parameters)) asked.searchParams.set(name, value)
  const { searchParams } = await idp.signIn(asked.href, 'ben')
  const form = { grant_type: 'authorization_code', code: searchParams.get('code') ?? '', redirect_uri, code_verifier }
  const answer = await fetch(`${idp.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...form, client_id: 'laptops' }),
  })
  const { id_token } = (await answer.json()) as { id_token: string }
  const given = { provider_id: provider.provider_id, id_token, device: { name: 'app', platform: 'android' } } as const
  await assert.rejects(others!.finish(given), { status: 401 }, 'a stolen ID token enrolls no other key')
  const opened = await mine!.finish(given)
  const theirs = await kit.admin.getDevice({ params: { device_id: opened.state.deviceId } })
  assert.equal((await kit.admin.getUser({ params: { user_id: String(theirs.user_id) } })).username, 'ben')
})
