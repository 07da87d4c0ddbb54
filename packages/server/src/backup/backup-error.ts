/** An error of a backup or a restore. Its message is one sentence for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

/**
 * Turns errors of the file and of the database server into a sentence for the operator. Returns any other error
 * unchanged.
 */
export function explained(e: unknown, doing: string): unknown {
  if (e instanceof BackupError || !(e instanceof Error)) return e
  const { code } = e as { code?: unknown }
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new BackupError(`${doing}: the disk is full. Free some space, or choose another directory.`)
  if (code === '53100') return new BackupError(`${doing}: the disk of the database is full; nothing was changed.`)
  if (typeof code === 'string') return new BackupError(`${doing}: ${e.message || code}.`, { cause: e })
  return e
}
