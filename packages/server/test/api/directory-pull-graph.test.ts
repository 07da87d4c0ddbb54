import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeDirectorySource } from '@holdfast/sdk'
import { createOutbound } from '../../src/outbound/outbound.ts'
import { createClock, loopbackAllowed, startKit } from '../support/deployment/deployment.ts'
import { activeDirectory, runPull } from '../support/providers/directory-pulls.ts'
import { entraClient, member, removed, startGraph } from '../support/providers/graph-directory.ts'

const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const user = (n: number, name: string, more = {}) => ({
  id: uuid(n),
  userPrincipalName: `${name}@acme.example`,
  displayName: name,
  mail: n % 2 ? `${name}@mail.example` : null,
  accountEnabled: true,
  userType: 'Member',
  ...more,
})
const group = (n: number, displayName: string, members: object[] = []) => ({
  id: uuid(n),
  displayName,
  ...(members.length > 0 && { 'members@delta': members }),
})

test('Entra ID: a full read by delta query, then changes, and a full read again when the link expires', async (t) => {
  const clock = createClock()
  // Ends before the deployment checks for leaks.
  const ends: (() => void)[] = []
  t.after(() => ends.forEach((end) => void end()))
  const graph = await startGraph({ after: (end) => void ends.push(end) }, createOutbound(loopbackAllowed))
  const kit = await startKit(t, { config: loopbackAllowed, now: clock.now, outbound: graph.outbound })
  const { admin } = kit
  const names = ['ada', 'ben', 'cleo', 'dan', 'eva']
  graph.say.users = [
    ...names.map((name, n) => user(n, name)),
    user(8, 'guest_gmail.com#EXT#', { userType: 'Guest' }),
    user(9, 'finn', { accountEnabled: false }),
  ]
  graph.say.groups = [
    group(20, 'all', [member(uuid(21), 'group'), member(uuid(22), 'group'), member(uuid(8))]),
    group(21, 'engineering', [member(uuid(0)), member(uuid(1)), member(uuid(30), 'device')]),
    group(22, 'sales', [member(uuid(2)), member(uuid(20), 'group')]),
    // A large group comes in pieces; each further piece names it again.
    group(21, 'engineering', [member(uuid(3))]),
    group(23, 'empty'),
  ]
  const { source_id } = await admin.createDirectorySource({
    body: {
      provider: 'entra',
      kind: 'entra_id',
      issuer: graph.issuer,
      client_id: entraClient.client_id,
      credential: entraClient.secret,
    },
  })
  const params = { source_id }
  const found = await admin.testDirectorySource({ params })
  assert.deepEqual([found.problem, found.found?.users, found.found?.groups], [null, 7, 5])

  const first = await runPull(admin, source_id)
  assert.equal(first.status, 'applied', JSON.stringify(first))
  assert.deepEqual(await activeDirectory(kit), {
    users: names.map((n) => `${n}@acme.example`),
    groups: {
      all: ['ada', 'ben', 'cleo', 'dan'].map((n) => `${n}@acme.example`),
      engineering: ['ada', 'ben', 'dan'].map((n) => `${n}@acme.example`),
      // Groups that contain each other have the same members.
      sales: ['ada', 'ben', 'cleo', 'dan'].map((n) => `${n}@acme.example`),
      empty: [],
    },
  })
  assert.ok(graph.asked.some((line) => line.includes('$select=id,displayName,members')))

  // Only the changes since the last pull.
  graph.say.users = [
    { id: uuid(1), displayName: 'Benjamin' },
    { id: uuid(4), ...removed },
    { id: uuid(8), displayName: 'still a guest' },
    { id: uuid(3), accountEnabled: false },
  ]
  graph.say.groups = [
    { id: uuid(21), 'members@delta': [{ ...member(uuid(0)), ...removed }, member(uuid(2))] },
    { id: uuid(23), ...removed },
    { id: uuid(22), displayName: 'selling' },
  ]
  const asked = graph.asked.length
  const changes = await runPull(admin, source_id)
  assert.equal(changes.status, 'applied', JSON.stringify(changes))
  assert.ok(
    graph.asked.slice(asked).every((line) => !line.includes('$select')),
    'only changes were asked for',
  )
  const held = await activeDirectory(kit)
  assert.deepEqual(
    held.users,
    ['ada', 'ben', 'cleo'].map((n) => `${n}@acme.example`),
  )
  assert.deepEqual(
    held.groups.engineering,
    ['ben', 'cleo', 'dan'].map((n) => `${n}@acme.example`),
  )
  assert.deepEqual(
    held.groups.selling,
    ['ben', 'cleo', 'dan'].map((n) => `${n}@acme.example`),
  )
  assert.deepEqual((await runPull(admin, source_id)).status, 'unchanged')

  // A pull that fails midway is repeated from the end of the last complete one.
  graph.setPerPage(1)
  graph.say.users = [user(40, 'gil'), user(41, 'hal')]
  const lost: (typeof graph.say.users)[] = [structuredClone(graph.say.users)]
  graph.meddle(({ url }) => (url.searchParams.has('$skiptoken') ? { status: 403 } : undefined))
  assert.equal((await runPull(admin, source_id)).status, 'failed')
  graph.meddle()
  graph.say.users = lost[0]!
  const again = await runPull(admin, source_id)
  assert.deepEqual([again.status, again.counts.users.created], ['applied', 2])

  // The provider no longer has the delta state, and reports it in either way: everything is read again.
  graph.setPerPage(50)
  const everything = () => {
    graph.say.users = [user(0, 'ada'), user(1, 'ben'), user(2, 'cleo'), user(40, 'gil'), user(41, 'hal')]
    graph.say.groups = [group(21, 'engineering', [member(uuid(1))])]
  }
  everything()
  graph.states.clear()
  const anew = await runPull(admin, source_id, { confirm_mass_change: true })
  assert.equal(anew.status, 'applied', JSON.stringify(anew))
  assert.deepEqual((await activeDirectory(kit)).groups.engineering, ['ben@acme.example'])
  const before = graph.asked.length
  everything()
  let isGone = true
  graph.meddle(({ url }) => {
    if (!isGone || !url.searchParams.has('$deltatoken')) return undefined
    isGone = false
    return { status: 400, json: { error: { code: 'syncStateNotFound', message: 'The sync state is not found.' } } }
  })
  assert.equal((await runPull(admin, source_id)).status, 'unchanged')
  assert.ok(graph.asked.slice(before).some((line) => line.includes('$select')))
  graph.meddle()

  // After six days everything is read again without a request.
  clock.advance(6 * 86_400 + 1)
  everything()
  const late = graph.asked.length
  assert.equal((await runPull(admin, source_id)).status, 'unchanged')
  assert.ok(graph.asked.slice(late).every((line) => !line.includes('deltatoken')))

  // Links lead nowhere else.
  for (const [name, url] of [
    ['@odata.nextLink', 'https://evil.example/v1.0/users/delta?$skiptoken=x'],
    ['@odata.nextLink', 'https://graph.microsoft.com.evil.example/v1.0/users/delta'],
    ['@odata.nextLink', 'http://graph.microsoft.com/v1.0/users/delta?$skiptoken=x'],
    ['@odata.nextLink', 'https://graph.microsoft.com:8443/v1.0/users/delta?$skiptoken=x'],
    ['@odata.nextLink', 'https://graph.microsoft.com@169.254.169.254/'],
  ] as const) {
    graph.meddle(({ url: { pathname } }) =>
      pathname.endsWith('/users/delta') ? { json: { value: [], [name]: url } } : undefined,
    )
    const evil = await runPull(admin, source_id)
    assert.deepEqual(
      [evil.status, evil.failure],
      ['failed', 'Users: a link leads to a host other than that of the directory; that host was not contacted.'],
      url,
    )
  }
  graph.meddle()
  assert.deepEqual(graph.elsewhere, [])
  assert.equal((await activeDirectory(kit)).users.length, 5)

  await changeDirectorySource(admin, { params }, { groups: { take: 'none', names: [] } })
  everything()
  const alone = await runPull(admin, source_id, { confirm_mass_change: true })
  assert.deepEqual([alone.status, alone.counts.groups.emptied], ['applied', 1])
  const texts = JSON.stringify([await admin.listAuditEvents({ query: { limit: 200 } }), kit.logs])
  assert.ok(!texts.includes(entraClient.secret))
})
