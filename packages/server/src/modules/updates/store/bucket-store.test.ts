import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { until } from '../../../../test/support/deployment/wait-until.ts'
import { minute, second } from '../../../kernel/time.ts'
import { createBucketStore } from './bucket-store.ts'

const storeAt = (port: number) =>
  createBucketStore({ url: `http://127.0.0.1:${port}/b`, region: 'r', accessKeyId: 'a', secretAccessKey: 's' })
const name = { tenant: '00000000-0000-4000-8000-000000000000', blobId: '00000000-0000-4000-8000-000000000001' }
const size = 60 * 1024 * 1024

async function contentIn(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bucket-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'content')
  await writeFile(file, Buffer.alloc(size))
  return {
    file,
    isClosed: async () => {
      const names = await readdir('/proc/self/fd')
      const links = names.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''))
      return !(await Promise.all(links)).includes(file)
    },
  }
}
const onLinux = { skip: process.platform !== 'linux' && 'open files are counted in /proc' }

test('a bucket that refuses connections leaves no file open', onLinux, async (t) => {
  const { file, isClosed } = await contentIn(t)
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  await assert.rejects(storeAt(port).put(name, file, size))
  await until(isClosed, 'the file to be closed')
})

test('a bucket that accepts a connection without answering times out', onLinux, async (t) => {
  const { file, isClosed } = await contentIn(t)
  const sockets: Socket[] = []
  const server = createServer((socket) => sockets.push(socket.pause())).listen(0, '127.0.0.1')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server, 'listening')
  const store = storeAt((server.address() as AddressInfo).port)
  const late = /the bucket did not answer in time/
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const connected = async (work: Promise<unknown>) => {
    await once(server, 'connection')
    return work
  }
  let isOver = false
  const asked = assert.rejects(connected(store.open(name, 10, undefined)), late)
  const removed = assert.rejects(connected(store.remove(name)), late)
  const put = assert.rejects(connected(store.put(name, file, size)), late).finally(() => {
    isOver = true
  })
  while (sockets.length < 3) await once(server, 'connection')
  t.mock.timers.tick(30 * second)
  await Promise.all([asked, removed])
  assert.equal(isOver, false, 'a larger file may take longer')
  t.mock.timers.tick(4 * minute)
  await put
  t.mock.timers.reset()
  await until(isClosed, 'the file to be closed')
})
