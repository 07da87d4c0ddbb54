import type { Kek, Peppers } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import { masterKeyHandlers } from './master-keys.handlers.ts'
import { beginWriting, type GivenKeys } from './registry.ts'
import { createRewrap } from './rewrap.ts'

export type { Peppers } from '@holdfast/crypto'
export { masterKeysInUse } from './in-use.ts'
export { keyPresenceOf, MasterKeyError, openPeppers } from './registry.ts'

/** The master keys: their list, the amount of data under each, and the job that moves data to the current one. */
export function createMasterKeys(deps: {
  db: Database
  kek: Kek
  peppers: Peppers
  masterKeys: GivenKeys['masterKeys']
  now: () => Date
  onError: (e: Error) => void
}) {
  const { db, peppers } = deps
  return {
    begin: (): Promise<void> => beginWriting(db, deps, peppers),
    jobs: [{ name: 'rewrap_secrets', cron: '*/5 * * * *', run: createRewrap(deps) }],
    handlers: masterKeyHandlers(deps),
  }
}
