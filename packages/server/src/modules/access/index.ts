import type { SecuritySettings } from '@holdfast/contract/settings'
import { readToken } from '@holdfast/crypto'
import type { Pager } from '../../db/page.ts'
import type { PresentedToken } from '../../http/admission/authenticate.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import type { Memory } from '../../replication/tenant-cache.ts'
import { apiKeyHandlers } from './api-keys.handlers.ts'
import { createApiKeys, type NewApiKey } from './api-keys.ts'
import { createEffectivePermissions } from './effective-permissions.ts'
import { createKeysOfUser, type KeysOfUserDeps } from './keys-of-user.ts'
import { createRates } from './rates.ts'
import { createKeyHits } from './search-hits.ts'
import { createKeyRights, createKeyVerifier, type StatusOf } from './verify-key.ts'

export type { Credential } from './effective-permissions.ts'
export type { KeysOfUser, TokensOfMakers } from './keys-of-user.ts'
export type { Rates } from './rates.ts'
export { covers, isRole, mayHandle, permissionsOfRoles } from './roles.ts'

type AccessDeps = KeysOfUserDeps & {
  feed: Memory['feed']
  pager: Pager
  statusOf: StatusOf
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  /** Called when last-used times could not be written. */
  onError: (e: Error) => void
}

export function createAccess(deps: AccessDeps) {
  const [keys, keysOfUser] = [createApiKeys(deps), createKeysOfUser(deps)]
  const rightsOf = createKeyRights(deps)
  const verifier = createKeyVerifier({ ...deps, rightsOf })
  // The same request asks for its token twice: before routing and after it.
  let last: { text: string; read: PresentedToken | undefined } | undefined

  return {
    /** Parses a token minted by this deployment. Returns undefined for any other text. */
    readToken: (text: string): PresentedToken | undefined => {
      if (last?.text === text) return last.read
      const read = readToken(deps.peppers, text)
      last = { text, read: read && { ...read, tenant: read.tenant as TenantId } }
      return last.read
    },
    verifyApiKey: verifier.verifyApiKey,
    /** Reads the current permissions of a credential that started work earlier. */
    standingOf: createEffectivePermissions({ ...deps, rightsOf }),
    rates: createRates(deps.settings),
    searchHits: createKeyHits(deps),
    /** Creates a key on behalf of the deployment itself. Returns its secret. */
    createKeyFor: async (tenant: TenantId, newKey: NewApiKey): Promise<string> =>
      (await keys.mint(jobSource(tenant, 'bootstrap'), newKey)).secret,
    keysOfUser,
    endKeysOf: keys.endOfUsers,
    endingKeys: keys.ending,
    countEndingKeys: keys.countEnding,
    jobs: (tenants: () => Promise<readonly TenantId[]>) => [
      { name: 'note_expired_keys', cron: '25 * * * *', run: async () => keys.noteExpired(await tenants()) },
    ],
    /** Writes the last-used times that are still in memory. Called at shutdown. */
    stop: (): Promise<void> => verifier.flushActivity(),
    handlers: apiKeyHandlers({ ...deps, keys, keysOfUser }),
  }
}
export type Access = ReturnType<typeof createAccess>
