import type { Contract, Given } from '@holdfast/contract'
import { aOrAn, type Noun } from '@holdfast/contract/vocabulary'
import { failField } from '../../kernel/app-error.ts'
import { parseAgo } from '../../kernel/date-time.ts'
import { decodeId } from '../../kernel/ids.ts'
import type { DeviceFilter } from './filter.queries.ts'

/** Device filter as in the API. */
export type GivenFilter = NonNullable<Given<Contract['changeDevices']>['body']['filter']>

const nouns = {
  user_id: 'user',
  group_id: 'group',
  token_id: 'enrollment_token',
  provider_id: 'identity_provider',
  gateway_id: 'gateway',
} as const satisfies Partial<Record<keyof DeviceFilter, Noun>>

/**
 * Converts TypeIDs to UUIDs, and ages to times. Throws 422 with the field for a malformed ID. IDs in a query string
 * were checked before.
 */
export function readDeviceFilter({ seen_within, unseen_for, ...filterInput }: GivenFilter, at: Date): DeviceFilter {
  const filter: DeviceFilter = { ...filterInput }
  for (const [field, noun] of Object.entries(nouns) as [keyof typeof nouns, Noun][]) {
    const id = filterInput[field]
    if (id === undefined) continue
    filter[field] = decodeId(noun, id) ?? failField(`filter.${field}`, `is not the id of ${aOrAn(noun)}`)
  }
  if (seen_within !== undefined) filter.seen_within = parseAgo('seen_within', seen_within, at)
  if (unseen_for !== undefined) filter.unseen_for = parseAgo('unseen_for', unseen_for, at)
  return filter
}
