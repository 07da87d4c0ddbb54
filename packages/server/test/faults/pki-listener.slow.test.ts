import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { request } from 'undici'
import { AppError } from '../../src/kernel/app-error.ts'
import { inventedSerial, ocspRequest, readOcsp } from '../support/clients/ocsp-client.ts'
import { send } from '../support/clients/raw-http.ts'
import { dispatcherTo, type Kit, times } from '../support/deployment/deployment.ts'
import { askOcsp, fetchPki, type Issued, ocspStatusOf, startPki } from '../support/deployment/pki-listener.ts'

/** Opens a connection on which the test writes arbitrary bytes. Returns everything received until its end. */
function speak({ pkiUrl }: Pick<Kit, 'pkiUrl'>, say: (write: (text: string | Buffer) => void) => Promise<void> | void) {
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect(Number(new URL(pkiUrl).port), '127.0.0.1')
  let text = ''
  socket.on('data', (some) => {
    text += some.toString('latin1')
  })
  // A write to a connection that the other side has closed is an error here; the answer before it counts.
  socket.on('error', () => {})
  socket.on('close', () => resolve(text))
  void say((some) => void (socket.writable && socket.write(some)))
  return promise
}
const head = (path: string, more: string) => `POST ${path} HTTP/1.1\r\nhost: pki\r\n${more}\r\n\r\n`

/** All tests use one replica, each with few requests. */
test('load on the open PKI listener', async (t) => {
  const { kit, issue } = await startPki(t)
  const issued = await issue()
  // The slow client mostly waits, so that other tests run at the same time.
  const slow = t.test('a slow client is disconnected within seconds', () => sendSlowly(kit, issued))
  await t.test('malformed requests get an error and affect no other client', (t) => sendMalformed(t, kit, issued))
  await t.test('one address has a limited rate, and others are served', (t) => sendOften(t, kit, issued))
  await t.test('invented serial numbers evict no answers and use no memory', () => askInventedSerials(kit, issued))
  await t.test('without the database no certificate gets a status', (t) => askWithoutDatabase(t, kit, issued))
  await slow
  await t.test('a stopping replica answers connected clients and accepts no others', () => askDuringStop(kit, issued))
})

async function sendMalformed(t: TestContext, kit: Kit, issued: Issued) {
  const { paths, issuing, spc } = issued
  const good = ocspRequest(issuing, [spc.serial])
  const post = (body: Buffer) => fetchPki(kit, paths.ocsp, { method: 'POST', body })

  await t.test('a malformed or damaged OCSP request gets an error answer', async () => {
    const damaged = fc.tuple(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, bits]) => {
      const bent = Buffer.from(good)
      bent[at]! ^= bits
      return bent
    })
    const any = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes))
    await fc.assert(
      fc.asyncProperty(fc.oneof(damaged, any), async (body) => {
        const { status, bytes } = await post(body)
        const { error, answers } = readOcsp(bytes)
        assert.equal(status, 200)
        assert.ok(error === 1 || error === 6 || ['good', 'unknown'].includes(answers[0]?.status ?? ''))
      }),
      { numRuns: 60 },
    )
    assert.equal(readOcsp((await post(Buffer.alloc(0))).bytes).error, 1)
  })
  await t.test('a path of unknown segments is answered without an error of the server', async () => {
    const known = ['..', '%2e%2e', '%00', '%ff', 'crl', 'ca', ...paths.ocsp.split('/')]
    const any = fc.string({ unit: 'binary-ascii' }).map(encodeURIComponent)
    const segment = fc.oneof(any, fc.constantFrom(...known))
    await fc.assert(
      fc.asyncProperty(fc.array(segment, { maxLength: 6 }), async (segments) => {
        const { status } = await send(kit.pkiUrl, { path: `/${segments.filter(Boolean).join('/')}` })
        assert.ok([400, 404, 405].includes(status) || (status === 200 && segments[0] === 'ocsp'), String(status))
      }),
      { numRuns: 40 },
    )
  })
  await t.test('an overlong body ends its connection, with or without a declared length', async () => {
    const long = 'a'.repeat(5000)
    const chunk = `1388\r\n${long}\r\n`
    for (const said of [
      head(paths.ocsp, 'content-length: 5000') + long,
      head(paths.ocsp, 'transfer-encoding: chunked') + chunk + chunk,
      head(paths.ocsp, 'content-length: 99999999999'),
    ])
      assert.match(await speak(kit, (write) => write(said)), /^HTTP\/1\.1 413 [\s\S]*connection: close/i)
    const elsewhere = await speak(kit, (write) => write(head('/nothing', 'content-length: 5000')))
    assert.match(elsewhere, /^HTTP\/1\.1 404 [\s\S]*connection: close/i)
    assert.match(await speak(kit, (write) => write(`GET /${'a'.repeat(9000)} HTTP/1.1\r\n\r\n`)), /^HTTP\/1\.1 431 /)
    assert.equal((await fetchPki(kit, `${paths.ocsp}/${'A'.repeat(1028)}`)).status, 404)
  })
  await t.test('endless requests on one connection end it', async () => {
    const asked = encodeURIComponent(ocspRequest(issuing, [spc.serial], randomBytes(16)).toString('base64'))
    const one = Buffer.from(`GET ${paths.ocsp}/${asked} HTTP/1.1\r\nhost: pki\r\n\r\n`)
    const last = Buffer.from(`GET ${paths.issuer} HTTP/1.1\r\nhost: pki\r\nconnection: close\r\n\r\n`)
    const answered = async (many: number) => {
      const answers = await speak(kit, (write) => write(Buffer.concat([...Array(many).fill(one), last])))
      return answers.split('HTTP/1.1 200').length - 1
    }
    assert.equal(await answered(7), 8)
    const most = await answered(40)
    assert.ok(most < 8, `${most} of 40`)
  })
  assert.equal(await ocspStatusOf(kit, issued), 'good')
}

async function sendSlowly(kit: Kit, { paths }: Issued) {
  const began = performance.now()
  const hold = (text: string, then: string) =>
    speak(kit, async (write) => {
      write(text)
      // A byte a second, for longer than anybody waits.
      for (let n = 0; n < 14; n++) {
        await delay(1000)
        write(then)
      }
    })
  const ended = await Promise.all([
    hold('GET /crl HTTP/1.1\r\n', 'a'),
    hold(head(paths.ocsp, 'content-length: 100'), 'a'),
    hold(head(paths.ocsp, 'transfer-encoding: chunked'), '1\r\na\r\n'),
  ])
  for (const answer of ended) assert.match(answer, /^HTTP\/1\.1 408 |^$/)
  assert.ok(performance.now() - began < 30_000)
}

async function sendOften(t: TestContext, kit: Kit, issued: Issued) {
  // With a frozen clock, so that the rate limit does not refill.
  const moment = Math.ceil(performance.now())
  t.mock.method(performance, 'now', () => moment)
  const from = (localAddress: string) => {
    const dispatcher = dispatcherTo(kit.pkiUrl, localAddress)
    t.after(() => dispatcher.destroy())
    return async () => {
      const { statusCode, headers, body } = await request(`${kit.pkiUrl}/crl/none`, { dispatcher })
      await body.dump()
      return { status: statusCode, headers }
    }
  }
  const ask = from('127.0.0.8')
  const got = await times(20, async () => {
    const answers = []
    for (let n = 0; n < 31; n++) answers.push(await ask())
    return answers
  })
  const refused = got.flat().filter(({ status }) => status === 429)
  assert.equal(refused.length, 20)
  assert.ok(Number(refused[0]!.headers['retry-after']) >= 1)
  assert.equal((await from('127.0.0.9')()).status, 404)
  assert.equal(await ocspStatusOf(kit, issued), 'good')
}

async function askInventedSerials(kit: Kit, issued: Issued) {
  const first = await askOcsp(kit, issued)
  const floods = await times(100, () => askOcsp(kit, issued, { serials: Array.from({ length: 20 }, inventedSerial) }))
  for (const { error, answers } of floods)
    assert.ok(error === 3 || answers.every(({ status }) => status === 'unknown'), `${error}`)
  assert.ok(floods.some(({ error }) => error === undefined))
  assert.deepEqual((await askOcsp(kit, issued)).bytes, first.bytes, 'the signed answer is still served')
}

async function askWithoutDatabase(t: TestContext, kit: Kit, issued: Issued) {
  assert.equal(await ocspStatusOf(kit, issued), 'good')
  t.mock.method(kit.app.feed, 'isFresh', () => false)
  t.mock.method(kit.app.feed, 'catchUp', () =>
    Promise.reject(new AppError('internal_error', 'unexpected server error')),
  )
  const { status, error } = await askOcsp(kit, issued)
  assert.deepEqual([status, error], [200, 3], 'tryLater')
  assert.equal((await fetchPki(kit, issued.paths.crl)).status, 503)
}

async function askDuringStop(kit: Kit, issued: Issued) {
  const drained = kit.app.drain(1)
  const { status, headers, answers } = await askOcsp(kit, issued)
  assert.deepEqual([status, headers.connection, answers[0]?.status], [200, 'close', 'good'])
  await drained
  await assert.rejects(askOcsp(kit, issued), /ECONNREFUSED/)
}
