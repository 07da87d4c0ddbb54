import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Answered, type Asked, startServer, startShell } from '../../test/support/shell.ts'

const text = '{\r\n  "rules": [ // to do\n\n'
const base = { bundle_id: 'pol_1', version: 4, channel: 'stable', digest: 'sha256:0' }
const listed = {
  draft_id: 'drf_1',
  name: 'wiki',
  base,
  size: 23,
  created_by: 'usr_1',
  created_by_name: 'ada',
  updated_by: 'key_1',
  updated_by_name: null,
  updated_at: '2026-01-31T09:30:00.000Z',
}
const conflict = {
  part: 'rules',
  name: 'wiki',
  draft: { id: 'wiki' },
  published: null,
  base: { id: 'wiki', log: true },
}
const merged = {
  base,
  current: { ...base, version: 5 },
  text: '{\n  "rules": []\n}',
  changed: true,
  conflicts: [conflict],
}

const usual = ({ line }: Asked): Answered => {
  if (line.startsWith('GET /v1/admin/policy-drafts?')) return { body: { items: [listed], next_cursor: null } }
  if (line.startsWith('GET /v1/admin/policy-drafts/drf_1/merge')) return { body: merged }
  if (line.startsWith('DELETE')) return { body: { changed: true } }
  return { status: line.startsWith('POST') ? 201 : 200, headers: { etag: '"1.x"' }, body: { ...listed, text } }
}

async function start(t: TestContext, answer = usual) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-drafts-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'policy.json')
  writeFileSync(file, text)
  const { url, asked } = await startServer(t, answer)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  return { run, asked, file, out: join(folder, 'merged.json') }
}

test('drafts can be listed, created and deleted, and their texts are read and printed unchanged', async (t) => {
  const { run, asked, file } = await start(t)
  assert.match((await run(['policy', 'draft', 'list', '--mine'])).out, /drf_1 +wiki +stable 4 +2026-\S+ +key_1 +23\n/)
  assert.match(asked.at(-1)!.line, /created_by=me/)
  const made = await run(['policy', 'draft', 'create', 'wiki', file, '--base', 'pol_1'])
  assert.equal(made.code, 0, made.err)
  assert.deepEqual(asked.at(-1)?.body, { name: 'wiki', text, base: { bundle_id: 'pol_1' } })
  assert.equal((await run(['policy', 'draft', 'show', 'wiki', '--text'])).out, text)
  assert.ok(!(await run(['policy', 'draft', 'show', 'wiki'])).out.includes('to do'))
  assert.equal(JSON.parse((await run(['policy', 'draft', 'show', 'wiki', '--json'])).out).text, text)
  assert.equal((await run(['policy', 'draft', 'delete', 'drf_1', '--yes'])).out, 'drf_1  deleted\n')
  writeFileSync(file, Buffer.from([0x7b, 0xff]))
  const latin = await run(['policy', 'draft', 'create', 'wiki', file])
  assert.deepEqual([latin.code, /is not UTF-8/.test(latin.err)], [2, true])
})

test('a save replaces the version that the command has read, and with --seen only one of that time', async (t) => {
  const { run, asked, file } = await start(t)
  const saved = await run(['policy', 'draft', 'save', 'drf_1', file, '--seen', listed.updated_at])
  assert.equal(saved.code, 0, saved.err)
  assert.deepEqual(asked.at(-1)?.body, { name: 'wiki', text, base })
  assert.equal(asked.at(-1)?.headers['if-match'], '"1.x"')
  await run(['policy', 'draft', 'save', 'drf_1', file, '--name', 'git', '--base', 'pol_2'])
  assert.deepEqual(asked.at(-1)?.body, { name: 'git', text, base: { bundle_id: 'pol_2' } })
  const before = asked.length
  const late = await run(['policy', 'draft', 'save', 'drf_1', file, '--seen', '2026-01-31T09:29:59.000Z'])
  assert.equal(late.code, 1)
  assert.match(late.err, /was saved at 2026-01-31T09:30:00.000Z by key_1/)
  assert.deepEqual(
    asked.slice(before).map(({ line }) => line.split(' ')[0]),
    ['GET'],
  )
})

test('a merge prints its conflicts and ends with exit code 1 if there are any', async (t) => {
  const { run, out } = await start(t)
  const found = await run(['policy', 'draft', 'merge', 'drf_1', '--out', out])
  assert.equal(found.code, 1)
  assert.equal(
    found.out,
    `Base: version 4 of stable. Current: version 5 of stable.
conflict: rules wiki
    draft      {"id":"wiki"}
    published  (absent)
    base       {"id":"wiki","log":true}
1 conflict. The merged document has the values of the draft.
`,
  )
  assert.equal(readFileSync(out, 'utf8'), `${merged.text}\n`)
  const again = await run(['policy', 'draft', 'merge', 'drf_1', '--out', out])
  assert.deepEqual([again.code, /already exists/.test(again.err)], [2, true], 'a file is not overwritten')
  assert.deepEqual(JSON.parse((await run(['policy', 'draft', 'merge', 'drf_1', '--json'])).out), merged)
  const clean = await start(t, (one) => ({ ...usual(one), body: { ...merged, conflicts: [], current: null } }))
  const none = await clean.run(['policy', 'draft', 'merge', 'drf_1', '--channel', 'canary'])
  assert.deepEqual(
    [none.code, none.out],
    [
      0,
      `Base: version 4 of stable. Current: none.\nNo conflicts. The merged document has changes of the current version.\n`,
    ],
  )
})
