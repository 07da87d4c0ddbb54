import type { KeptReading, PullProgress } from '../../../db/tables/directory.ts'
import type { AccessTokenRequest, Ask } from './asking.ts'
import type { DirectoryPage, PulledGroup, Take } from './pages.ts'

/** Address of a directory, and the client that reads it. */
export type DirectoryAccess = { issuer: string; clientId: string; credential: string }
/** Entries read since the pull began. */
export type PulledSoFar = { users: Set<string>; groups: PulledGroup[]; groupIds: Set<string> }
/**
 * State of a reading. The cursor has the vendor's own format and is stored between steps, so that any replica can do
 * the next one.
 */
export type At = { cursor: object; take: Take; seen: PulledSoFar; progress: PullProgress }
/**
 * One answer, and the cursor of the next one; null at the end. `again`: reason for starting over. `links`: state from
 * which a reading of changes continues.
 */
export type PullStep = { page: DirectoryPage; cursor: object | null; again?: string; links?: KeptReading['links'] }
type Look = { users: number | null; groups: number | null; some_users: string[] }

/** Reader for directories of one vendor. */
export type Vendor = {
  /** Reason why the issuer is invalid, as a sentence. */
  problemOf: (issuer: string) => string | undefined
  /** Scheme, host and port for requests with the token. */
  originOf: (issuer: string) => string
  tokenOf: (place: DirectoryAccess) => AccessTokenRequest | Promise<AccessTokenRequest>
  /** `links`: from an earlier reading, to read only the changes since then. */
  begin: (place: Pick<DirectoryAccess, 'issuer'>, links: KeptReading['links'] | undefined) => object
  step: (ask: Ask, place: Pick<DirectoryAccess, 'issuer'>, at: At) => Promise<PullStep>
  /** Reads a sample, to test the settings. */
  look: (ask: Ask, place: Pick<DirectoryAccess, 'issuer'>) => Promise<Look>
}
