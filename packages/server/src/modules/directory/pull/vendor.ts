import type { KeptReading, PullProgress } from '../../../db/tables/directory.ts'
import type { Ask, TokenRequest } from './asking.ts'
import type { Page, PulledGroup, Take } from './pages.ts'

/** Where a directory is and as whom it is asked. */
export type Place = { issuer: string; clientId: string; credential: string }
/** What was read since the pull began. */
export type Seen = { users: Set<string>; groups: PulledGroup[]; groupIds: Set<string> }
/** Where a reading stands. A cursor is the vendor's own; it is kept between steps, on whichever replica the next is. */
export type At = { cursor: object; take: Take; seen: Seen; progress: PullProgress }
/**
 * One answer, and where the next begins: null at the end. `again`: the reading begins anew, and why. `links`: what a
 * reading of changes goes on from.
 */
export type Step = { page: Page; cursor: object | null; again?: string; links?: KeptReading['links'] }
type Look = { users: number | null; groups: number | null; some_users: string[] }

/** How a directory of one make is read. */
export type Vendor = {
  /** Why the issuer can't be one, as a sentence. */
  problemOf: (issuer: string) => string | undefined
  /** Scheme, host and port of what is asked with the token. */
  originOf: (issuer: string) => string
  tokenOf: (place: Place) => TokenRequest | Promise<TokenRequest>
  /** `links`: of an earlier reading, for what changed since. */
  begin: (place: Pick<Place, 'issuer'>, links: KeptReading['links'] | undefined) => object
  step: (ask: Ask, place: Pick<Place, 'issuer'>, at: At) => Promise<Step>
  /** A first look, for a test of the settings. */
  look: (ask: Ask, place: Pick<Place, 'issuer'>) => Promise<Look>
}
