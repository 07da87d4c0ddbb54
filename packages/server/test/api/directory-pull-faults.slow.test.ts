import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { bearer, call, operation } from '../support/clients/api-calls.ts'
import { type Kit, loopbackAllowed, startKit } from '../support/deployment/deployment.ts'
import { createSource, runPull, untilPullEnds } from '../support/providers/directory-pulls.ts'
import { keycloakClient, startKeycloak } from '../support/providers/keycloak-directory.ts'

type Keycloak = Awaited<ReturnType<typeof startKeycloak>>
type Meddle = Parameters<Keycloak['meddle']>[0]
const isPage = (first: number) => (url: URL) =>
  url.pathname.endsWith('/users') && url.searchParams.get('first') === String(first)
const third = isPage(199)
/** Gives this answer to the first matching request, and lets later ones pass. */
const once = (
  fits: (url: URL) => boolean,
  reply: Exclude<Awaited<ReturnType<NonNullable<Meddle>>>, undefined>,
): Meddle => {
  let is = true
  return ({ url }) => {
    if (!is || !fits(url)) return undefined
    is = false
    return reply
  }
}
const always =
  (fits: (url: URL) => boolean, reply: Exclude<Awaited<ReturnType<NonNullable<Meddle>>>, undefined>): Meddle =>
  ({ url }) =>
    fits(url) ? reply : undefined

/** The faults of a directory, each with the result of its pull: the failure, or the number of created users. */
const faults: Record<string, { does: (keycloak: Keycloak) => Meddle; becomes: RegExp | number; retries?: number }> = {
  'the third page is a 500': {
    does: () => always(third, { status: 500, json: { error: 'unknown_error' } }),
    becomes: /^Users could not be read: the directory answered 500\.$/,
    retries: 3,
  },
  'the connection ends instead of an answer': {
    does: () => always(third, 'cut'),
    becomes: /^Users could not be read: The connection failed/,
    retries: 3,
  },
  'the third page is a 500 once': { does: () => once(third, { status: 503 }), becomes: 250, retries: 1 },
  'asks to wait': {
    does: () => once(third, { status: 429, headers: { 'retry-after': '1' } }),
    becomes: 250,
    retries: 1,
  },
  'asks to wait too long': {
    does: () => always(third, { status: 429, headers: { 'retry-after': '3600' } }),
    becomes: /asked to wait 3600 seconds/,
  },
  'ten megabytes': {
    does: () => always(third, { raw: Buffer.alloc(10 * 1024 * 1024, ' ') }),
    becomes: /^Users could not be read: The answer is too large\.$/,
    retries: 0,
  },
  'no JSON': {
    does: () => always(third, { raw: '<html>' }),
    becomes: /^Users: the answer of the directory is not JSON/,
  },
  'no list': {
    does: () => always(third, { json: { users: [] } }),
    becomes: /^Users: the answer of the directory is not a list/,
  },
  'no id': { does: () => always(isPage(0), { json: [{ username: 'a' }] }), becomes: /an entry without an id/ },
  'a redirect to an address of its own network': {
    does: () => always(third, { status: 302, headers: { location: 'http://169.254.169.254/latest/meta-data' } }),
    becomes: /the directory answered 302/,
  },
  'a client without the right': {
    does: () =>
      always((url) => url.pathname.endsWith('/count'), { status: 403, json: { error: 'HTTP 403 Forbidden' } }),
    becomes: /^Users: the client has no permission to read them\. Grant it at the directory\.$/,
  },
  'a token that ends early': { does: () => once(third, { status: 401 }), becomes: 250, retries: 0 },
  'no token': {
    does: () => always((url) => url.pathname.endsWith('/token'), { json: { token_type: 'Bearer' } }),
    becomes: /without a valid token/,
  },
  'somebody comes in front of what was read': {
    does: (keycloak) => {
      let n = 0
      return ({ url }) => {
        if (third(url) && n++ === 0) keycloak.addUser('aaron')
        return undefined
      }
    },
    becomes: 251,
    retries: 1,
  },
  'one goes in front and another comes behind': {
    does: (keycloak) => {
      let n = 0
      return ({ url }) => {
        if (!third(url) || n++ > 0) return undefined
        const [first] = [...keycloak.users.keys()]
        keycloak.users.delete(first!)
        keycloak.addUser('zoe')
        return undefined
      }
    },
    becomes: 250,
    retries: 1,
  },
  'the count never holds': {
    does:
      (keycloak) =>
      ({ url }) => {
        if (url.pathname.endsWith('/users/count')) keycloak.addUser(`zz${keycloak.users.size}`)
        return undefined
      },
    becomes: /^The number of users changed during each of 3 attempts to read the directory\.$/,
    retries: 2,
  },
}

test('a faulty directory changes nothing and the run has the reason, or the fault is tolerated', async (t) => {
  const kit = await startKit(t, { config: loopbackAllowed })
  const { admin } = kit
  const wrong: string[] = []
  const one = async (name: string, { does, becomes, retries }: (typeof faults)[string], n: number) => {
    const keycloak = await startKeycloak(kit)
    // Each directory has its own usernames, so that they do not collide.
    for (let i = 0; i < 250; i++) keycloak.addUser(`p${String(n).padStart(2, '0')}-${String(i).padStart(4, '0')}`)
    keycloak.meddle(does(keycloak))
    const { source_id } = await createSource(admin, keycloak, { provider: name, groups: { take: 'none', names: [] } })
    const { run } = await admin.runDirectorySource({ params: { source_id }, body: { confirm_mass_change: true } })
    const { status, failure, counts, progress } = await untilPullEnds(admin, run.run_id, 60_000)
    const fits =
      typeof becomes === 'number'
        ? status === 'applied' && counts.users.created === becomes
        : status === 'failed' && becomes.test(failure ?? '') && counts.users.created === 0
    if (!fits || (retries !== undefined && progress?.retries !== retries))
      wrong.push(`${name}: ${JSON.stringify({ status, failure, created: counts.users.created, progress })}`)
  }
  await Promise.all(Object.entries(faults).map(([name, fault], n) => one(name, fault, n)))
  assert.deepEqual(wrong, [])
  const { items } = await admin.listAuditEvents({ query: { limit: 200, kind: 'directory.synced' } })
  assert.equal(items.length, Object.keys(faults).length)
  const logged = kit.logs.filter((line) => line.includes('background task failed'))
  assert.deepEqual(logged, [], 'none of it is a fault of ours')
  const { users } = (await admin.getDirectorySyncStatus({ query: { limit: 200 } })).items.find(
    (d) => d.provider === 'the third page is a 500',
  )!
  assert.deepEqual(users, { active: 0, suspended: 0 })
})

test('forbidden addresses and invalid settings of a source are refused', async (t) => {
  const kit = await startKit(t)
  const create = (body: object) =>
    call(kit, operation('createDirectorySource'), bearer(kit.adminKey), {
      provider: 'corp',
      kind: 'keycloak',
      client_id: 'x',
      issuer: 'https://login.example.com/realms/people',
      ...body,
    })
  for (const [body, about] of [
    [{ issuer: 'https://169.254.169.254/realms/people' }, /issuer/],
    [{ issuer: 'https://127.0.0.1/realms/people' }, /issuer/],
    [{ issuer: 'http://login.example.com/realms/people' }, /issuer/],
    [{ issuer: 'https://login.example.com' }, /realms/],
    [{ kind: 'entra_id', issuer: 'https://login.microsoftonline.com/common/v2.0' }, /one tenant/],
    [{ kind: 'okta', issuer: 'https://acme.okta.com/oauth2/default' }, /organisation/],
    [{ kind: 'okta', issuer: 'https://acme.okta.com', credential: 'not a key' }, /private key/],
    [{ enabled: true }, /credential/],
    [{ interval_minutes: 14 }, /interval_minutes/],
    [{ groups: { take: 'listed', names: [] } }, /groups\.names/],
    [{ users: 'in_groups', groups: { take: 'none', names: [] } }, /users/],
  ] as const) {
    const { status, text } = await create(body)
    assert.deepEqual([status, about.test(text)], [422, true], `${JSON.stringify(body)} ${text}`)
  }
  const without = await create({})
  assert.equal(without.status, 201, without.text)
  const params = { source_id: String(without.json.source_id) }
  await assert.rejects(kit.admin.runDirectorySource({ params, body: {} }), { status: 422 })
  const { ok, problem } = await kit.admin.testDirectorySource({ params })
  assert.deepEqual([ok, problem], [false, 'The source has no credential.'])
  // A name that resolves to an internal address is refused at the request, and the failure says so.
  const { source_id } = await kit.admin.createDirectorySource({
    body: {
      provider: 'inside',
      kind: 'keycloak',
      client_id: 'x',
      issuer: 'https://localhost/realms/people',
      credential: keycloakClient.secret,
    },
  })
  const inside = await kit.admin.testDirectorySource({ params: { source_id } })
  assert.match(inside.problem ?? '', /an address that this deployment does not allow/)
  for (const role of ['security_admin', 'operator', 'auditor'] as const)
    await assert.rejects((await kit.as(role)).runDirectorySource({ params: { source_id }, body: {} }), { status: 403 })
  const theirs = await kit.as('tenant_admin', await kit.newTenant())
  await assert.rejects(theirs.getDirectorySource({ params: { source_id } }), { status: 404 })
  await assert.rejects(theirs.runDirectorySource({ params: { source_id }, body: {} }), { status: 404 })
})

test('unresponsive directories do not delay other tenants', async (t) => {
  const kit: Kit = await startKit(t, { config: loopbackAllowed })
  const silent = await startKeycloak(kit)
  silent.meddle(() => 'hang')
  const runs: { client: Kit['admin']; run_id: string }[] = []
  for (let tenants = 0; tenants < 3; tenants++) {
    const client = await kit.as('tenant_admin', await kit.newTenant())
    for (const provider of ['a', 'b', 'c']) {
      const { source_id } = await createSource(client, silent, { provider })
      const { run } = await client.runDirectorySource({ params: { source_id }, body: {} })
      runs.push({ client, run_id: run.run_id })
    }
  }
  const keycloak = await startKeycloak(kit)
  keycloak.addUsers(3)
  const { source_id } = await createSource(kit.admin, keycloak)
  assert.equal((await runPull(kit.admin, source_id)).status, 'applied')
  await delay(50)
  for (const { client, run_id } of runs) await client.cancelDirectoryRun({ params: { run_id }, body: {} })
  for (const { client, run_id } of runs) assert.equal((await untilPullEnds(client, run_id)).status, 'cancelled')
})
