import type { Noun } from '@holdfast/contract/vocabulary'
import { fail, failField } from '../../../kernel/app-error.ts'
import { decodeId } from '../../../kernel/ids.ts'
import type { SessionFilter } from './sessions.queries.ts'

const filterNouns = { device_id: 'device', user_id: 'user', gateway_id: 'gateway', pool_id: 'gateway_pool' } as const
export type GivenSessionFilter = { [K in keyof typeof filterNouns]?: string }

/** A TypeID of a path; what is none is 404 like an unknown one. */
export const uuidOf = (noun: Noun, text: string): string =>
  decodeId(noun, text) ?? fail('not_found', `no such ${noun.replace('_', ' ')}`)

/** TypeIDs → UUIDs. Undefined: one of them is no id of its kind, so that nothing can match. */
export function readSessionFilter(given: GivenSessionFilter): SessionFilter | undefined {
  const filter: SessionFilter = {}
  for (const [field, noun] of Object.entries(filterNouns) as [keyof typeof filterNouns, Noun][]) {
    const text = given[field]
    if (text === undefined) continue
    const id = decodeId(noun, text)
    if (id === undefined) return undefined
    filter[field] = id
  }
  return filter
}

/** Which sessions to end: by ids or by a filter that names something, one of the two. */
export function readSessionChoice(body: {
  session_ids?: string[]
  filter?: GivenSessionFilter
}): { ids: string[] } | { filter: SessionFilter } {
  const { session_ids, filter } = body
  if ((session_ids === undefined) === (filter === undefined))
    failField('session_ids', 'name the sessions by session_ids or by filter, one of the two')
  if (filter === undefined) return { ids: (session_ids ?? []).flatMap((id) => decodeId('vpn_session', id) ?? []) }
  if (Object.keys(filter).length === 0)
    failField('filter', 'names nothing; give device_id, user_id, gateway_id or pool_id')
  const read = readSessionFilter(filter)
  return read ? { filter: read } : { ids: [] }
}
