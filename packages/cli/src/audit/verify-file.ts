import { createHash } from 'node:crypto'
import { isObject, parseStrictObject } from '@holdfast/crypto/strict-json'
import { UsageError } from '../exit.ts'
import { BadRecord } from './bad-record.ts'
import type { Trusted } from './keys.ts'
import { openManifest } from './manifest.ts'

type Given = { manifest: Record<string, unknown>; jws: string }

/** Reads a signed manifest from a separate file. */
export function readManifest(text: string, name: string): Given {
  try {
    const { manifest, jws } = parseStrictObject(Buffer.from(text), 'the manifest')
    if (isObject(manifest) && typeof jws === 'string') return { manifest, jws }
  } catch {}
  throw new UsageError(`${name} has no signed manifest: audit export writes one next to each CSV or syslog file.`)
}

/**
 * Verifies that a file is byte for byte the exported one: as CSV or syslog, without a hash chain. Throws `BadRecord`
 * otherwise.
 */
export async function verifyFile(bytes: AsyncIterable<Buffer>, given: Given, trusted: Trusted) {
  const manifest = openManifest(given, trusted, 1)
  const { tenant_id, format, filter, started_at, events, first_seq, last_seq, hash_of_last } = manifest
  if (format !== 'csv' && format !== 'syslog')
    throw new UsageError(
      `The manifest belongs to an export as ${format}, which contains its manifest: leave --manifest out.`,
    )
  const digest = createHash('sha256')
  let size = 0
  for await (const piece of bytes) {
    digest.update(piece)
    size += piece.length
  }
  if (size !== manifest.bytes) throw new BadRecord(1, `${manifest.bytes} bytes were exported, and the file has ${size}`)
  if (digest.digest('hex') !== manifest.sha256) throw new BadRecord(1, 'the file differs from the export')
  return {
    tenant_id,
    format,
    filter,
    started_at,
    events,
    first_seq,
    last_seq,
    last_hash: hash_of_last,
    bytes: size,
    sha256: manifest.sha256,
    manifest_is_signed: true,
  }
}
