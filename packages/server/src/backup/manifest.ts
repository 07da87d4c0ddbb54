import { createHash, createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { canonicalJson } from '@holdfast/crypto'
import type { Static, TSchema } from 'typebox'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { BackupError } from './backup-error.ts'

const Closed = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })
const Digest = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Name = Type.String({ pattern: '^[a-z][a-z0-9_]{0,62}$' })
const Count = Type.Integer({ minimum: 0 })

/** The first entry: describes the backup. */
const Head = Closed({
  format: Type.Literal('holdfast-backup-1'),
  /** Time of the snapshot, by the database's clock. */
  taken_at: Type.String({ format: 'date-time' }),
  deployment_id: Type.String(),
  tenants: Count,
  migrations: Type.Array(Closed({ version: Count, sha256: Digest })),
  /** Ids of the master keys that a restore needs. */
  master_keys: Type.Array(Type.String()),
  tables: Type.Array(Closed({ name: Name, columns: Type.Array(Name) })),
  months: Type.Array(Type.String({ pattern: '^\\d{4}-\\d{2}-01$' })),
  counters: Type.Array(Closed({ name: Name, value: Type.String({ pattern: '^\\d{1,19}$' }) })),
  /** Number and bytes of the release packages, which are stored outside the database. */
  packages: Closed({ count: Count, bytes: Count }),
})
export type Head = Static<typeof Head>

const Content = Closed({ name: Name, rows: Count, bytes: Count, sha256: Digest })
export type Content = Static<typeof Content>
/** The last entry: lists the contents, and proves that the backup was made by a holder of the master key. */
const Contents = Closed({
  head_sha256: Digest,
  tables: Type.Array(Content),
  /** HMAC-SHA-256 of the members above in RFC 8785 form, under a key derived from the master key `key_id`. */
  mac: Closed({ key_id: Type.String(), value: Digest }),
})
type Contents = Static<typeof Contents>

export const names = { head: 'backup.json', contents: 'contents.json' } as const
export const partName = (table: string, part: number): string => `tables/${table}/${String(part).padStart(6, '0')}.copy`

type BackupKey = { id: string; backupKey: KeyObject }

const macOf = (key: KeyObject, of: Omit<Contents, 'mac'>): Buffer =>
  createHmac('sha256', key)
    .update(`holdfast backup\n${canonicalJson(of)}`)
    .digest()

export const jsonBytes = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value, null, 1)}\n`)

export function contentsOf(head: Uint8Array, tables: Content[], { id, backupKey }: BackupKey): Contents {
  const contents = { head_sha256: createHash('sha256').update(head).digest('hex'), tables }
  return { ...contents, mac: { key_id: id, value: macOf(backupKey, contents).toString('hex') } }
}

export const readHead = (bytes: Uint8Array): Head => read(Head, bytes)

/**
 * Throws unless the backup was made with one of our master keys. Recipients are public, so anybody can encrypt to them.
 */
export function requireContents(
  bytes: Uint8Array,
  { head, tables, keys }: { head: Uint8Array; tables: readonly Content[]; keys: readonly BackupKey[] },
): void {
  const { mac, ...contents } = read(Contents, bytes)
  const key = keys.find(({ id }) => id === mac.key_id)
  if (!key)
    throw new BackupError(
      `The backup was made under the master key ${mac.key_id}: add its line to HOLDFAST_MASTER_KEY_FILE.`,
    )
  if (!timingSafeEqual(macOf(key.backupKey, contents), Buffer.from(mac.value, 'hex')))
    throw new BackupError('The backup is invalid: its signature was not made with the master key.')
  const found = { head_sha256: createHash('sha256').update(head).digest('hex'), tables }
  if (canonicalJson(found) !== canonicalJson(contents))
    throw new BackupError('The backup is invalid: its contents differ from its table of contents.')
}

function read<T extends TSchema>(schema: T, bytes: Uint8Array): Static<T> {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch (cause) {
    throw new BackupError('The file is not a Holdfast backup.', { cause })
  }
  const { format } = (value ?? {}) as { format?: unknown }
  if (typeof format === 'string' && format !== 'holdfast-backup-1')
    throw new BackupError(
      `The backup has the format ${format}, which this version of Holdfast cannot read: use the version that made the backup.`,
    )
  if (!Compile(schema).Check(value)) throw new BackupError('The file is not a Holdfast backup.')
  return value
}
