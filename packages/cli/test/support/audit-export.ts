import { createHash } from 'node:crypto'
import {
  auditHash,
  canonicalJson,
  createGrowingTree,
  generateKey,
  leafHash,
  noHash,
  signCheckpoint,
  signJws,
  softwareSigner,
  thumbprint,
} from '@holdfast/crypto'
import { bringCheckpoint, readCheckpoint, trustedBy } from '../../src/audit/keys.ts'
import { linesOf } from '../../src/audit/lines.ts'
import type { Manifest } from '../../src/audit/manifest.ts'
import { verifyExport } from '../../src/audit/verify-export.ts'

export const tenantId = 'tnt_01h455vb4pex5vsknk084sn02q'
export const eventNamed = (n: number, more: object = {}) => ({
  event_id: `evt_${n}`,
  tenant_id: tenantId,
  kind: 'api_key.used',
  timestamp: '2030-01-01T00:00:00.000Z',
  actor: { id: 'key_1', name: `Zoë "${n}"\u2028`, type: 'api_key' },
  ...more,
})

export type Row = { seq: number; hash: Buffer; record: string }
/** Creates a log of `count` events, each hashed into the next. */
export function makeRecord(count: number, event: (n: number) => object = eventNamed): Row[] {
  let before = noHash
  return Array.from({ length: count }, (_, i) => {
    const record = canonicalJson(event(i + 1))
    before = auditHash(before, i + 1, record)
    return { seq: i + 1, hash: before, record }
  })
}
export const lineOf = ({ seq, hash, record }: Row): string =>
  `${record.slice(0, -1).replaceAll('\u2028', '\\u2028')},"hash":"${hash.toString('hex')}","seq":${seq}}\n`

export const textOf = (rows: readonly Row[]): string => rows.map(lineOf).join('')
export const changed = (row: Row): Row => ({ ...row, record: row.record.replace('api_key.used', 'device.revoked') })
/** Recomputes the hashes from an event on, as an attacker with write access could. */
export function rehash(rows: readonly Row[], from: number, to = rows.length): Row[] {
  const result = [...rows]
  for (let i = from - 1; i < to; i++)
    result[i] = { ...result[i]!, hash: auditHash(result[i - 1]?.hash ?? noHash, i + 1, result[i]!.record) }
  return result
}

const { publicJwk, privateJwk } = generateKey('Ed25519')
export const signer = softwareSigner('audit-checkpoint', privateJwk)
/** A trust set with only the fields that are used. */
export const trustSet = {
  tenant_id: tenantId,
  jwks: {
    keys: [
      { ...publicJwk, kid: thumbprint(publicJwk), alg: 'Ed25519', use: 'sig', holdfast_purpose: ['audit-checkpoint'] },
    ],
  },
}

export const checkpointOf = (rows: readonly Row[], by = signer): Promise<string> => {
  const tree = createGrowingTree()
  for (const { hash } of rows) tree.append(leafHash(hash))
  return signCheckpoint({ origin: `holdfast.test/audit/${tenantId}`, size: rows.length, root: tree.root() }, by)
}

/** Returns the last line of an export of these rows. */
export async function manifestOf(rows: readonly Row[], more: Partial<Manifest> = {}, by = signer): Promise<string> {
  const body = textOf(rows)
  const [first, last] = [rows[0], rows.at(-1)]
  const manifest: Manifest = {
    schema: 'holdfast.audit-export/1',
    tenant_id: tenantId,
    format: 'ndjson',
    filter: {},
    started_at: '2030-01-01T00:00:00.000Z',
    events: rows.length,
    first_seq: first?.seq ?? null,
    last_seq: last?.seq ?? null,
    hash_before_first: first?.seq === 1 ? noHash.toString('hex') : null,
    hash_of_last: last?.hash.toString('hex') ?? null,
    bytes: Buffer.byteLength(body),
    sha256: createHash('sha256').update(body).digest('hex'),
    head: { seq: last?.seq ?? 0, hash: (last?.hash ?? noHash).toString('hex') },
    ...more,
  }
  return `${JSON.stringify({ manifest, jws: await signJws(by, 'audit-export+jws', manifest) })}\n`
}

export async function* once<T>(...values: T[]) {
  yield* values
}
export const trusted = trustedBy(trustSet)
type Given = Partial<Parameters<typeof verifyExport>[1]> & {
  /** Checkpoints given by the user. */
  kept?: readonly string[]
  /** Checkpoints of the server. */
  listed?: readonly string[]
  isTrusted?: boolean
}
/** Returns the verdict on a file. */
export async function verify(text: string, { kept = [], listed = [], isTrusted = true, ...more }: Given = {}) {
  const known = isTrusted ? trusted : undefined
  const brought = kept.map((note) => bringCheckpoint(note, known))
  const all = [...brought, ...listed.map((note) => readCheckpoint(note, known))].sort((a, b) => a.size - b.size)
  const witness = { checkpoints: once(...all), reached: brought }
  return (await verifyExport(linesOf(once(Buffer.from(text))), { trusted: known, witness, ...more })).verdict
}
export const refused = (seq: number, why: RegExp) => ({ name: 'BadRecord', seq, message: why })
