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
      throw new BadRecord(first, 'the manifest is not the one that was signed')
    if (signed.tenant_id !== tenantId)
      throw new BadRecord(first, `the manifest is of another tenant: ${String(signed.tenant_id)}`)
    return signed as Manifest
  } catch (e) {
    if (!(e instanceof CryptoError)) throw e
    throw new BadRecord(first, `nobody who is trusted signed the manifest: ${e.message}`)
  }
}

export const isFiltered = ({ filter }: Manifest): boolean => Object.keys(filter).length > 0

/** Tolerated lag of the server's clock in seconds. */
const skewSeconds = 300

/** Checks that the manifest is for the requested export, and that its first event is present. Throws `BadRecord`. */
export function requireMeant(manifest: Manifest | undefined, { first, last, firstFollows }: Chain, asked?: Date): void {
  const from = first?.seq ?? null
  const behind = (last?.seq ?? 0) + 1
  if (!manifest) throw new BadRecord(behind, 'it ends here, without a manifest that is signed: a part of an export?')
  if (from !== manifest.first_seq) {
    if (manifest.first_seq !== null && (from === null || from > manifest.first_seq))
      throw new BadRecord(manifest.first_seq, 'it is missing: what was exported began with it')
    throw new BadRecord(from ?? 1, 'it was not exported')
  }
  if (first && manifest.hash_before_first !== null && !firstFollows(Buffer.from(manifest.hash_before_first, 'hex')))
    throw new BadRecord(first.seq, 'its hash does not fit: it is not what was recorded there')
  if (!asked) return
  if (isFiltered(manifest))
    throw new BadRecord(behind, 'what was sent is an export by a filter: nobody says that the record ends here')
  if (!(Date.parse(manifest.started_at) >= asked.getTime() - 1000 * skewSeconds))
    throw new BadRecord(
      behind,
      `what was sent is an export of ${manifest.started_at}, from before it was asked for: how the record goes on from ` +
        'here is not told (or a clock is more than five minutes off)',
    )
}

/** Checks that an export contains all events of its manifest. Throws `BadRecord`. */
export function requireContent(manifest: Manifest, chain: Chain, content: Content): void {
  const { first, last, believed } = chain
  const [from, to] = [first?.seq ?? null, last?.seq ?? null]
  if (to !== null && manifest.last_seq !== null && to !== manifest.last_seq) {
    if (to > manifest.last_seq) throw new BadRecord(manifest.last_seq + 1, 'it was not exported')
    const missing = isFiltered(manifest) ? manifest.last_seq : to + 1
    throw new BadRecord(missing, `it is missing: what was exported ended with place ${manifest.last_seq}`)
  }
  if (last && last.hash.toString('hex') !== manifest.hash_of_last)
    throw new BadRecord(last.seq, 'it is not the last one that was exported')
  if (!isFiltered(manifest) && (to ?? 0) < manifest.head.seq)
    throw new BadRecord((to ?? 0) + 1, `it is missing: the record ended with place ${manifest.head.seq}`)
  const doubted = believed ?? from ?? 1
  if (content.events !== manifest.events)
    throw new BadRecord(doubted, `${manifest.events} events were exported, and here are ${content.events}`)
  if (content.bytes !== manifest.bytes || content.sha256 !== manifest.sha256)
    throw new BadRecord(
      doubted,
      'the file is not, byte for byte, what was exported: from here on, as far as can be told',
    )
}
