import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loopbackAllowed, startKit } from '../support/deployment/deployment.ts'
import { runPull } from '../support/providers/directory-pulls.ts'
import { startOkta } from '../support/providers/okta-directory.ts'

test('Okta: pages by Link header, private-key authentication, and deprovisioned users are suspended', async (t) => {
  const kit = await startKit(t, { config: loopbackAllowed })
  const { admin } = kit
  const okta = await startOkta(kit)
  const people = Array.from({ length: 230 }, (_, i) => okta.addUser(`p${String(i).padStart(3, '0')}@acme.example`))
  const odd = [
    okta.addUser('staged@acme.example', 'STAGED'),
    okta.addUser('locked@acme.example', 'LOCKED_OUT'),
    okta.addUser('suspended@acme.example', 'SUSPENDED'),
    okta.addUser('gone@acme.example', 'DEPROVISIONED'),
  ]
  okta.addGroup('Everyone', [...people, ...odd], 'BUILT_IN')
  okta.addGroup('engineering', [...people.slice(0, 210), ...odd])
  okta.addGroup('sales', people.slice(225))
  const { source_id } = await admin.createDirectorySource({
    body: {
      provider: 'okta',
      kind: 'okta',
      issuer: okta.origin,
      client_id: okta.clientId,
      credential: okta.jwk,
    },
  })
  const params = { source_id }
  const looked = await admin.testDirectorySource({ params })
  assert.deepEqual([looked.problem, looked.found?.some_users.length], [null, 5])
  const first = await runPull(admin, source_id)
  assert.deepEqual(
    [first.status, first.counts.users.created, first.counts.groups.created, first.counts.memberships.added],
    ['applied', 232, 2, 217],
    JSON.stringify(first),
  )
  const sizes = (await admin.listGroups()).items.map((g) => [g.name, g.member_count])
  assert.deepEqual(sizes, [
    ['engineering', 212],
    ['sales', 5],
  ])
  const asked = okta.asked.filter((line) => line.startsWith('GET') && line.includes('limit=200'))
  assert.equal(asked.length, 2 + 1 + 2 + 1)

  okta.users.get(people[0]!)!.status = 'DEPROVISIONED'
  okta.users.get(people[1]!)!.status = 'SUSPENDED'
  await admin.updateDirectorySource({
    params,
    body: { ...(await admin.getDirectorySource({ params })), credential: okta.pem },
  })
  const second = await runPull(admin, source_id)
  assert.deepEqual([second.status, second.counts.users.suspended], ['applied', 2], JSON.stringify(second))

  // An exhausted rate limit names the time of its reset (Okta: in seconds since 1970).
  let isLimited = true
  okta.meddle(({ url }) => {
    if (!isLimited || !url.searchParams.has('after')) return undefined
    isLimited = false
    const date = new Date().toUTCString()
    return { status: 429, headers: { date, 'x-rate-limit-reset': String(Date.parse(date) / 1000 + 1) } }
  })
  const third = await runPull(admin, source_id)
  assert.deepEqual([third.status, third.progress?.retries], ['unchanged', 1])

  for (const link of ['https://evil.example/api/v1/users?after=1', 'http://169.254.169.254/', '//evil.example/']) {
    okta.meddle(({ url }) =>
      url.pathname === '/api/v1/users' ? { json: [], headers: { link: `<${link}>; rel="next"` } } : undefined,
    )
    const { status, failure } = await runPull(admin, source_id)
    assert.deepEqual(
      [status, failure],
      ['failed', 'Users: a link leads to a host other than that of the directory; that host was not contacted.'],
    )
  }
  okta.meddle()
  await admin.updateDirectorySource({
    params,
    body: { ...(await admin.getDirectorySource({ params })), client_id: 'another' },
  })
  const refused = await runPull(admin, source_id)
  assert.match(refused.failure ?? '', /no token for the client id and its credential \(invalid_client\)/)
  assert.deepEqual((await admin.getDirectorySyncStatus()).items[0]?.users, { active: 230, suspended: 2 })
})
