import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Answered, type Asked, startServer } from '../../test/support/scripted-server.ts'
import { createDeviceUpdates } from '../device/updates.ts'
import { createSender } from '../send.ts'

const text = 'a client '.repeat(20_000)
const offered = { target: 'pkg_1', size: text.length, sha256: createHash('sha256').update(text).digest('hex') }

/** Answers with the requested range. */
const inPart = ({ headers: { range } }: Asked): Answered => {
  const from = /^bytes=(\d+)-$/.exec(range ?? '')?.[1]
  return from === undefined ? { text } : { status: 206, text: text.slice(Number(from)) }
}

async function start(t: TestContext, answer: (asked: Asked) => Answered) {
  const { baseUrl, asked } = await startServer(t, answer)
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-download-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'client')
  const { downloadUpdate } = createDeviceUpdates({
    call: createSender({ baseUrl }),
    judge: () => assert.fail('nothing is judged'),
    withTrust: (check) => Promise.resolve(check()),
  })
  const download = () => downloadUpdate(offered as Parameters<typeof downloadUpdate>[0], path)
  const files = () => readdir(folder)
  return { path, asked, download, files, content: () => readFile(path, 'utf8') }
}

test('what breaks off is a failure of the connection, and is gone on with', async (t) => {
  const cut = { 'content-length': String(text.length), connection: 'close' }
  let answers = 0
  const { path, asked, download, files, content } = await start(t, (one) =>
    ++answers === 1 ? { headers: cut, text: text.slice(0, 50_000) } : inPart(one),
  )
  await assert.rejects(download(), { name: 'ConnectionError' })
  assert.deepEqual(await files(), ['client.part'])
  const there = (await readFile(`${path}.part`)).length
  await download()
  assert.equal(asked[1]?.headers.range, there > 0 ? `bytes=${there}-` : undefined)
  assert.equal(await content(), text)
  assert.deepEqual(await files(), ['client'])
})

test('where ranges are not known on the way, the whole replaces the part that is there', async (t) => {
  const { path, download, content } = await start(t, () => ({ text }))
  await writeFile(`${path}.part`, text.slice(0, 50_000))
  await download()
  assert.equal(await content(), text)
})

test('two at once do not write into one another', async (t) => {
  const { download, content, files } = await start(t, inPart)
  await Promise.all([download(), download()])
  assert.equal(await content(), text)
  assert.deepEqual(await files(), ['client'])
})
