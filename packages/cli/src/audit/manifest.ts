import type { Contract, Output } from '@holdfast/contract'
import { CryptoError, canonicalJson, verifyJws } from '@holdfast/crypto'
import { parseStrictObject } from '@holdfast/crypto/strict-json'
import { BadRecord } from './bad-record.ts'
import type { Chain } from './chain.ts'
import type { Trusted } from './keys.ts'

export type Manifest = Output<Contract['getAuditExportManifest']>['manifest']
/** The export before the manifest. */
type Content = { events: number; bytes: number; sha256: string }

/**
 * Verifies the manifest's signature by a key of the trust set. Throws `BadRecord` at the first event, since nothing
 * confirms it then.
 */
export function openManifest(
  { manifest, jws }: { manifest: Record<string, unknown>; jws: string },
  { tenantId, keys }: Trusted,
  first: number,
): Manifest {
  try {
    const { payload } = verifyJws(jws, { typ: 'audit-export+jws', key: (kid) => keys.get(kid) })
    const signed = parseStrictObject(payload, 'the manifest')
    if (canonicalJson(signed) !== canonicalJson(manifest))
      throw new BadRecord(first, 'the manifest differs from the signed one')
    if (signed.tenant_id !== tenantId)
      throw new BadRecord(first, `the manifest belongs to another tenant: ${String(signed.tenant_id)}`)
    return signed as Manifest
  } catch (e) {
    if (!(e instanceof CryptoError)) throw e
    throw new BadRecord(first, `the manifest has no signature of a trusted key: ${e.message}`)
  }
}

export const isFiltered = ({ filter }: Manifest): boolean => Object.keys(filter).length > 0

/** Tolerated lag of the server's clock in seconds. */
const skewSeconds = 300

/** Checks that the manifest is for the requested export, and that its first event is present. Throws `BadRecord`. */
export function requireMeant(manifest: Manifest | undefined, { first, last, firstFollows }: Chain, asked?: Date): void {
  const from = first?.seq ?? null
  const behind = (last?.seq ?? 0) + 1
  if (!manifest) throw new BadRecord(behind, 'the export ends here without a signed manifest: it may be incomplete')
  if (from !== manifest.first_seq) {
    if (manifest.first_seq !== null && (from === null || from > manifest.first_seq))
      throw new BadRecord(manifest.first_seq, 'it is missing: the export began with this event')
    throw new BadRecord(from ?? 1, 'it is not part of the export')
  }
  if (first && manifest.hash_before_first !== null && !firstFollows(Buffer.from(manifest.hash_before_first, 'hex')))
    throw new BadRecord(first.seq, 'its hash is wrong: the event was altered')
  if (!asked) return
  if (isFiltered(manifest))
    throw new BadRecord(behind, 'the server sent a filtered export, which does not prove the end of the audit log')
  if (!(Date.parse(manifest.started_at) >= asked.getTime() - 1000 * skewSeconds))
    throw new BadRecord(
      behind,
      `the server sent an older export, of ${manifest.started_at}. It does not contain the events after ` +
        'this one (or a clock is wrong by more than five minutes)',
    )
}

/** Checks that an export contains all events of its manifest. Throws `BadRecord`. */
export function requireContent(manifest: Manifest, chain: Chain, content: Content): void {
  const { first, last, believed } = chain
  const [from, to] = [first?.seq ?? null, last?.seq ?? null]
  if (to !== null && manifest.last_seq !== null && to !== manifest.last_seq) {
    if (to > manifest.last_seq) throw new BadRecord(manifest.last_seq + 1, 'it is not part of the export')
    const missing = isFiltered(manifest) ? manifest.last_seq : to + 1
    throw new BadRecord(missing, `it is missing: the export ended with sequence number ${manifest.last_seq}`)
  }
  if (last && last.hash.toString('hex') !== manifest.hash_of_last)
    throw new BadRecord(last.seq, 'it differs from the last exported event')
  if (!isFiltered(manifest) && (to ?? 0) < manifest.head.seq)
    throw new BadRecord((to ?? 0) + 1, `it is missing: the audit log ended with sequence number ${manifest.head.seq}`)
  const doubted = believed ?? from ?? 1
  if (content.events !== manifest.events)
    throw new BadRecord(doubted, `${manifest.events} events were exported, and the file has ${content.events}`)
  if (content.bytes !== manifest.bytes || content.sha256 !== manifest.sha256)
    throw new BadRecord(
      doubted,
      'the file differs from the export; the exact position is unknown, at the earliest here',
    )
}
