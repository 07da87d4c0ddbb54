import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey, signCheckpoint, softwareSigner } from '@holdfast/crypto'
import { readCheckpoint, type Trusted } from './keys.ts'

test('a checkpoint belongs to the tenant that its origin names, also after a restore of its audit log', async () => {
  const trusted: Trusted = { tenantId: 'tnt_a', keys: new Map() }
  const signer = softwareSigner('audit-checkpoint', generateKey('Ed25519').privateJwk)
  const read = async (origin: string) =>
    readCheckpoint(await signCheckpoint({ origin, size: 7, root: Buffer.alloc(32, 1) }, signer), trusted)
  for (const origin of ['host/audit/tnt_a', 'host:8443/audit/tnt_a', 'host/audit/tnt_a/2026-11-23T16:00:00.000Z'])
    assert.equal((await read(origin)).size, 7, origin)
  for (const origin of [
    ...['host/audit/tnt_b', 'host/audit/tnt_b/tnt_a', 'host/tnt_a', 'tnt_a', 'host/audit/tnt_a/then/tnt_b'],
    ...['host/audit/', 'host/audit/tnt_b/audit/tnt_a', 'host/audit/tnt_a/'],
  ])
    await assert.rejects(read(origin), { name: 'BadRecord', message: /another audit log/ }, origin)
})
