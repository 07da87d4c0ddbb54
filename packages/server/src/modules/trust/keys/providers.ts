import type { Kek } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { Log } from '../../../kernel/log.ts'
import { noteUnneeded } from './keys.queries.ts'
import { localKeys } from './local.ts'
import { pkcs11Keys } from './pkcs11/pkcs11.ts'
import { createTokenClient, type TokenConfig } from './pkcs11/token-client.ts'
import type { KeyProviders } from './provider.ts'

/** With a token configured, new keys are made in it. Older keys stay where they are. */
export function createKeyProviders(deps: {
  kek: Kek
  token: TokenConfig | undefined
  db: Database
  log: Log
}): KeyProviders {
  const local = localKeys(deps.kek)
  if (!deps.token) return [local]
  const token = createTokenClient(deps.token, deps.log)
  const keepInMind = async (kid: string) => void (await deps.db.acrossTenants((tx) => noteUnneeded(tx, kid)))
  return [pkcs11Keys({ token, keepInMind }), local]
}
