import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readCertificateRequest } from '@holdfast/crypto/x509/certificate-request'
import { startServer, startShell } from '../../test/support/shell.ts'

const spc = {
  spc_id: 'spc_1',
  serial: '00',
  device_id: 'dev_1',
  status: 'active',
  issued_at: '2030-01-01T00:00:00.000Z',
  not_after: '2030-01-02T00:00:00.000Z',
}
const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`
const issued = { spc, certificate: pem('AAAA'), chain: [pem('BBBB')], trust_anchor_version: 1 }

async function start(t: TestContext, body: object, status = 200) {
  const { url, asked } = await startServer(t, () => ({ status, body }))
  const { run, home } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const file = (name: string) => join(home, name)
  return { asked, file, home, spc: (...args: string[]) => run(['spc', ...args]) }
}

test('certificates are listed in a table, optionally of one device', async (t) => {
  const { asked, spc: run } = await start(t, { items: [spc], next_cursor: null })
  const { out } = await run('list', '--device', 'dev_1', '--status', 'active')
  assert.match(out, /^SPC +DEVICE +STATUS +ISSUED +EXPIRES\nspc_1 +dev_1 +active +2030/)
  assert.equal(asked[0]?.line, 'GET /v1/admin/spc?device_id=dev_1&status=active&limit=100')
  assert.deepEqual(JSON.parse((await run('list', '--json')).out), spc)
})

test('the private key of a new request stays in a file that only its owner reads', async (t) => {
  const { asked, file, spc: run } = await start(t, issued, 201)
  const { code, out, err } = await run('issue', 'dev_1', '--new-key', file('key'), '--out', file('pem'))
  assert.deepEqual([code, out], [0, ''])
  assert.match(err, /^spc_1 of dev_1, valid until 2030.*\n(.*\n)*Its private key is in .*key, and nowhere else\.\n$/)
  const { csr, device_id } = asked[0]!.body as { csr: string; device_id: string }
  assert.equal(device_id, 'dev_1')
  const key = createPrivateKey(await readFile(file('key')))
  const { crv, x } = key.export({ format: 'jwk' })
  const { publicJwk } = readCertificateRequest(csr)
  assert.deepEqual([publicJwk.crv, publicJwk.x], [crv, x])
  assert.equal(await readFile(file('pem'), 'utf8'), pem('AAAA') + pem('BBBB'))
  if (process.platform !== 'win32')
    for (const name of ['key', 'pem']) assert.equal((await stat(file(name))).mode & 0o777, 0o600)
})

test('without a file the certificate and its chain go to stdout', async (t) => {
  const { asked, file, spc: run } = await start(t, issued, 201)
  await writeFile(file('csr'), 'a request')
  const { out } = await run('rotate', 'spc_9', '--csr', file('csr'))
  assert.equal(out, pem('AAAA') + pem('BBBB'))
  assert.deepEqual([asked[0]?.line, asked[0]?.body], ['POST /v1/spc/rotate', { csr: 'a request', spc_id: 'spc_9' }])
  assert.deepEqual(JSON.parse((await run('rotate', 'spc_9', '--csr', file('csr'), '--json')).out), issued)
})

test('existing files are not overwritten, conflicting options send no request, and a refusal leaves no file', async (t) => {
  const {
    asked,
    file,
    home,
    spc: run,
  } = await start(t, { error: 'validation_error', detail: 'the device is revoked', request_id: 'r-1' }, 422)
  await writeFile(file('pem'), 'mine')
  const { code, err } = await run('issue', 'dev_1', '--new-key', file('key'), '--out', file('pem'))
  assert.equal(code, 2)
  assert.match(err, /pem can't be written: it already exists/)
  assert.match((await run('issue', 'dev_1')).err, /--csr, or create a key with --new-key/)
  assert.equal((await run('issue', 'dev_1', '--csr', file('pem'), '--new-key', file('key'))).code, 2)
  assert.equal(asked.length, 0)
  assert.equal((await run('issue', 'dev_1', '--new-key', file('key'), '--out', file('other'))).code, 1)
  assert.equal(await readFile(file('pem'), 'utf8'), 'mine')
  assert.deepEqual(await readdir(home), ['pem'])
})

test('a revocation needs a confirmation, and a repeated one is reported as such', async (t) => {
  const { asked, spc: run } = await start(t, { changed: false, spc: { ...spc, status: 'revoked' } })
  assert.equal((await run('revoke', 'spc_1')).code, 2)
  assert.equal(asked.length, 0)
  const { err } = await run('revoke', 'spc_1', '--reason', 'keyCompromise', '--yes')
  assert.equal(err, 'It was already revoked.\n')
  assert.deepEqual(asked[0]?.body, { spc_id: 'spc_1', reason: 'keyCompromise' })
})

test('an invalid certificate exits with 1; of a chain the first certificate is judged', async (t) => {
  for (const [valid, expected] of [
    [true, 0],
    [false, 1],
  ] as const) {
    const verdict = { valid, status: valid ? 'good' : 'revoked', reasons: [], spc: null, policy: null, checked_at: '' }
    const { asked, file, spc: run } = await start(t, verdict)
    await writeFile(file('pem'), pem('AAAA') + pem('BBBB'))
    const { code, out } = await run('validate', file('pem'), '--at', '2030-01-01T00:00:00Z')
    assert.equal(code, expected)
    assert.match(out, /^valid +(true|false)\nstatus +(good|revoked)\n/)
    assert.deepEqual(asked[0]?.body, { certificate: pem('AAAA').trimEnd(), at: '2030-01-01T00:00:00Z' })
  }
})
