/** A backup or a restore that can not be made: one sentence for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

/** Of the file and of the server: what the operator can mend, as a sentence; anything else stays what it is. */
export function explained(e: unknown, doing: string): unknown {
  if (e instanceof BackupError || !(e instanceof Error)) return e
  const { code } = e as { code?: unknown }
  if (code === 'ENOSPC' || code === 'EDQUOT') return new BackupError(`${doing}: there is no room left for the file.`)
  if (code === '53100') return new BackupError(`${doing}: the disk of the database is full; nothing was changed.`)
  if (typeof code === 'string') return new BackupError(`${doing}: ${e.message || code}.`, { cause: e })
  return e
}
