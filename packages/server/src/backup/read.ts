import { createHash, type Hash, type KeyObject } from 'node:crypto'
import { readArchive } from './archive.ts'
import { BackupError } from './backup-error.ts'
import { type Content, type Head, names, partName, readHead, requireContents } from './manifest.ts'

export type BackupOpening = {
  file: string
  identities: readonly string[]
  keys: readonly { id: string; backupKey: KeyObject }[]
}
type Sink = {
  begin: (head: Head) => Promise<void>
  /** Receives whole rows of a table in COPY format. Tables come one after the other, in the order of the head. */
  take: (table: Head['tables'][number], rows: Uint8Array) => Promise<void>
}

/**
 * Passes the contents of a backup to `sink` in order. Throws unless they are exactly the written contents. The proof
 * comes last, so the caller must undo all received rows if this throws.
 */
export async function readBackup(
  { file, identities, keys }: BackupOpening,
  sink?: Sink,
): Promise<{ head: Head; tables: Content[] }> {
  const entries = readArchive(file, identities)
  const first = await entries.next()
  if (first.done || first.value.name !== names.head) throw new BackupError('The file is not a Holdfast backup.')
  const headBytes = first.value.bytes
  const head = readHead(headBytes)
  const missing = head.master_keys.find((id) => !keys.some((key) => key.id === id))
  if (missing !== undefined)
    throw new BackupError(
      `Secrets in the backup are encrypted with the master key ${missing}: add its line to HOLDFAST_MASTER_KEY_FILE, which has ${keys.map(({ id }) => id).join(', ')}.`,
    )
  await sink?.begin(head)
  const counted: { content: Content; hash: Hash; parts: number }[] = head.tables.map(({ name }) => ({
    content: { name, rows: 0, bytes: 0, sha256: '' },
    hash: createHash('sha256'),
    parts: 0,
  }))
  let at = 0
  for await (const { name, bytes } of entries) {
    if (name === names.contents) {
      const tables = counted.map(({ content, hash }) => ({ ...content, sha256: hash.digest('hex') }))
      requireContents(bytes, { head: headBytes, tables, keys })
      if (!(await entries.next()).done) throw new BackupError('The backup is invalid: there is data after its end.')
      return { head, tables }
    }
    while (at < counted.length && name !== partName(counted[at]!.content.name, counted[at]!.parts + 1)) at++
    const of = counted[at]
    if (!of) throw new BackupError(`The backup is invalid: ${name} is at an unexpected position.`)
    of.parts++
    of.hash.update(bytes)
    of.content.bytes += bytes.length
    of.content.rows += rowsIn(bytes)
    await sink?.take(head.tables[at]!, bytes)
  }
  throw new BackupError('The backup is incomplete: its table of contents is missing.')
}

function rowsIn(bytes: Uint8Array): number {
  let rows = 0
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) rows++
  return rows
}
