import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../test/support/any-text.ts'
import {
  noteKeyId,
  openCheckpoint,
  openNote,
  peekCheckpoint,
  readNote,
  signCheckpoint,
  signNote,
} from './checkpoint.ts'
import { generateKey, softwareSigner } from './signer.ts'

const { publicJwk, privateJwk } = generateKey('Ed25519')
const signer = softwareSigner('audit-checkpoint', privateJwk)
const origin = 'holdfast.example/audit/tnt_1'
const checkpoint = { origin, size: 20_852_163, root: Buffer.alloc(32, 7) }
const refuses = (code: string) => ({ name: 'CryptoError', code })

test('signed notes match the vector of the reference implementation', async () => {
  const [text, signature] = [
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
    'x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=',
  ]
  const x = Buffer.from('ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW', 'base64').subarray(1).toString('base64url')
  const d = Buffer.from('AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz', 'base64').subarray(1).toString('base64url')
  const key = { kty: 'OKP', crv: 'Ed25519', x } as const
  const note = `${text}\n— PeterNeumann ${signature}\n`
  assert.equal(noteKeyId('PeterNeumann', key).toString('hex'), 'c74f20a3')
  assert.equal(openNote(note, 'PeterNeumann', [key]), text)
  assert.equal(await signNote(text, 'PeterNeumann', softwareSigner('audit-checkpoint', { ...key, d })), note)
})

test('a checkpoint verifies with the key that signed it, beside other signatures', async () => {
  const note = await signCheckpoint(checkpoint, signer)
  assert.match(
    note,
    /^holdfast\.example\/audit\/tnt_1\n20852163\nBwcH[A-Za-z0-9+/]+=\n\n— holdfast\.example\/audit\/tnt_1 [^ \n]+\n$/,
  )
  assert.deepEqual(openCheckpoint(note, [generateKey('ES256').publicJwk, publicJwk]), checkpoint)
  const witness = softwareSigner('audit-checkpoint', generateKey('Ed25519').privateJwk)
  const [, line] = (await signNote(readNote(note).text, 'witness.example', witness)).split('\n\n')
  assert.deepEqual(openCheckpoint(note + line, [publicJwk]), checkpoint)
  assert.throws(() => openCheckpoint(note, [generateKey('Ed25519').publicJwk]), refuses('unknown_key'))
  await assert.rejects(async () =>
    signCheckpoint(checkpoint, softwareSigner('audit-checkpoint', generateKey('ES256').privateJwk)),
  )
})

test('any change of a signed checkpoint is refused', async () => {
  const note = await signCheckpoint(checkpoint, signer)
  fc.assert(
    fc.property(fc.nat(note.length - 1), anyText({ maxLength: 3 }), (at, put) => {
      const other = note.slice(0, at) + put + note.slice(at + 1)
      if (other !== note) assert.throws(() => openCheckpoint(other, [publicJwk]), { name: 'CryptoError' })
    }),
  )
  const renamed = note.replace(origin, 'holdfast.example/audit/tnt_2')
  assert.throws(() => openCheckpoint(renamed, [publicJwk]), refuses('unknown_key'), 'of another log')
  assert.throws(() => openCheckpoint(note.replaceAll(origin, `${origin}2`), [publicJwk]), refuses('unknown_key'))
  assert.throws(() => openCheckpoint(note.replace('20852163', '20852164'), [publicJwk]), refuses('bad_signature'))
})

test('a malformed checkpoint is refused', async () => {
  const root = checkpoint.root.toString('base64')
  for (const text of [
    `${origin}\n01\n${root}\n`,
    `${origin}\n-1\n${root}\n`,
    `${origin}\n9007199254740993\n${root}\n`,
    `${origin}\n1\n${root.slice(0, -1)}\n`,
    `${origin}\n1\n${Buffer.alloc(31).toString('base64')}\n`,
    `\n1\n${root}\n`,
    `${origin}\n1\n${root}\n\nmore\n`,
    `${origin}\n1\n`,
  ])
    assert.throws(() => peekCheckpoint(`${text}\n— a AAAAAAA=\n`), refuses('malformed'), JSON.stringify(text))
  assert.equal(peekCheckpoint(`${origin}\n1\n${root}\nan extension\n\n— a AAAAAAA=\n`).size, 1)
  for (const note of ['', '\n\n', `${origin}\n1\n${root}\n`, `${origin}\n1\n${root}\n\n`, `a\n\n— a+b AAAAAAA=\n`])
    assert.throws(() => readNote(note), refuses('malformed'), JSON.stringify(note))
  assert.throws(() => readNote(`a\n\n${'— a AAAAAAA=\n'.repeat(2000)}`), refuses('malformed'))
})
