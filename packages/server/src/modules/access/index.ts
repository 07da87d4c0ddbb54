import type { SecuritySettings } from '@holdfast/contract/settings'
import { readToken } from '@holdfast/crypto'
import type { Pager } from '../../db/page.ts'
import type { PresentedToken } from '../../http/authenticate.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import type { Memory } from '../../memory/held.ts'
import { apiKeyHandlers } from './api-keys.handlers.ts'
import { createApiKeys, type NewKey } from './api-keys.ts'
import { createKeysOfUser, type KeysOfUserDeps } from './keys-of-user.ts'
import { createRates } from './rates.ts'
import { createKeyHits } from './search-hits.ts'
import { createStanding } from './standing.ts'
import { createKeyVerifier, createRights, type StatusOf } from './verify-key.ts'

export type { KeysOfUser, TokensOfMakers } from './keys-of-user.ts'
export type { Rates } from './rates.ts'
export { covers, isRole, mayHandle, permissionsOfRoles } from './roles.ts'
export type { Credential } from './standing.ts'

type AccessDeps = KeysOfUserDeps & {
  feed: Memory['feed']
  pager: Pager
  statusOf: StatusOf
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  /** Hears of "last used" times that could not be written yet. */
  onError: (e: Error) => void
}

export function createAccess(deps: AccessDeps) {
  const [keys, keysOfUser] = [createApiKeys(deps), createKeysOfUser(deps)]
  const rightsOf = createRights(deps)
  const verifier = createKeyVerifier({ ...deps, rightsOf })
  // The same request is asked about in front of the router and behind it.
  let last: { text: string; read: PresentedToken | undefined } | undefined

  return {
    /** What a token says that this deployment minted; undefined for every other text. */
    readToken: (text: string): PresentedToken | undefined => {
      if (last?.text === text) return last.read
      const read = readToken(deps.peppers, text)
      last = { text, read: read && { ...read, tenant: read.tenant as TenantId } }
      return last.read
    },
    verifyApiKey: verifier.verifyApiKey,
    /** What whoever once asked for work may do now. */
    standingOf: createStanding({ ...deps, rightsOf }),
    rates: createRates(deps.settings),
    searchHits: createKeyHits(deps),
    /** A key made by the deployment itself; returns its secret. */
    createKeyFor: async (tenant: TenantId, wanted: NewKey): Promise<string> =>
      (await keys.mint(jobSource(tenant, 'bootstrap'), wanted)).secret,
    keysOfUser,
    endKeysOf: keys.endOfUsers,
    endingKeys: keys.ending,
    countEndingKeys: keys.countEnding,
    jobs: (tenants: () => Promise<readonly TenantId[]>) => [
      { name: 'note_expired_keys', cron: '25 * * * *', run: async () => keys.noteExpired(await tenants()) },
    ],
    /** Writes what is still in memory; at stop. */
    stop: (): Promise<void> => verifier.flushActivity(),
    handlers: apiKeyHandlers({ ...deps, keys, keysOfUser }),
  }
}
export type Access = ReturnType<typeof createAccess>
