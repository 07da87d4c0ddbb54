import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Asked, startServer, startShell } from '../../test/support/shell.ts'

const view = {
  view_id: 'viw_1',
  list: 'devices',
  name: 'Macs',
  query: { platform: 'macos', q: 'a=b' },
  shared: true,
  owner: { user_id: 'usr_1', username: 'ada' },
  created_at: '2026-01-01T00:00:00.000Z',
}
const hit = {
  kind: 'device',
  id: 'dev_1',
  name: 'laptop',
  detail: 'linux · SN1',
  status: 'active',
  actions: ['suspend'],
}

test('a search prints kind, name and detail, and says of which kinds there is more', async (t) => {
  const body = { items: [hit], kinds: ['device'], more: ['device'] }
  const { url, asked } = await startServer(t, () => ({ body }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const { code, out, err } = await run(['search', 'jane doe', '--kind', 'device', 'user', '--limit', '3'])
  assert.equal(code, 0, err)
  assert.match(out, /^KIND .*\ndevice +laptop +linux · SN1 +active +dev_1\n$/)
  assert.match(err, /There are more of: device/)
  assert.deepEqual(JSON.parse((await run(['search', '%', '--json'])).out), body)
  assert.deepEqual(
    asked.map(({ line }) => line),
    ['GET /v1/admin/search?q=jane+doe&limit=3&kinds=device%2Cuser', 'GET /v1/admin/search?q=%25&limit=8'],
  )
  for (const args of [['search'], ['search', 'x', '--kind', 'planet'], ['search', 'x', '--limit', '21']])
    assert.equal((await run(args)).code, 2, args.join(' '))
})

test('views are listed, made, changed and deleted', async (t) => {
  const answer = ({ line }: Asked) => {
    if (line.startsWith('GET /v1/admin/views?')) return { body: { items: [view], next_cursor: null } }
    if (line.startsWith('DELETE')) return { body: { changed: true } }
    return { status: line.startsWith('POST') ? 201 : 200, headers: { etag: '"1"' }, body: view }
  }
  const { url, asked } = await startServer(t, answer)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  assert.match(
    (await run(['view', 'list', '--of', 'devices'])).out,
    /viw_1 +devices +Macs +ada +true +platform=macos, q=a=b/,
  )
  const made = await run(['view', 'create', 'devices', 'Macs', '--query', 'platform=macos', 'q=a=b', '--shared'])
  assert.equal(made.code, 0, made.err)
  assert.deepEqual(asked.at(-1)?.body, { list: 'devices', name: 'Macs', query: view.query, shared: true })
  await run(['view', 'update', 'macs', '--no-shared'])
  assert.deepEqual(asked.at(-1)?.body, { ...view, shared: false })
  assert.equal((await run(['view', 'delete', 'viw_1', '--yes'])).out, 'viw_1  deleted\n')
  for (const args of [
    ['view', 'update', 'viw_1'],
    ['view', 'create', 'planets', 'x'],
    ['view', 'create', 'users', 'x', '--query', 'q'],
  ])
    assert.equal((await run(args)).code, 2, args.join(' '))
})
