import type { StoredParty } from '../../db/tables/columns.ts'
import { callOf, type ReadCurrent, reasonField, type WorkflowStep } from './definition.ts'

/** Builds the calls that revoke all devices of a user, in one transaction. */
export async function revokeDevicesOf(
  user_id: string,
  look: ReadCurrent,
  reason: string | undefined,
  onError: WorkflowStep['onError'],
): Promise<WorkflowStep> {
  const which = { operation: 'revoke' as const, filter: { user_id } }
  const { results } = await look('changeDevices', { body: { ...which, dry_run: true } })
  const affects = results.flatMap(({ device_id, outcome }): StoredParty[] =>
    outcome === 'changed' ? [{ type: 'device', id: device_id, name: null }] : [],
  )
  return {
    call: callOf('changeDevices', { body: { ...which, ...reasonField(reason) } }),
    summary: 'Revoke the devices of the user',
    affects,
    onError,
  }
}

/**
 * A lock suspends the keys of a user until it is released, but not the enrollment tokens that the user made. Keys and
 * tokens that another person may have are revoked for good.
 */
export async function revokeKeysSteps(
  user_id: string,
  username: string,
  look: ReadCurrent,
  reason: string | undefined,
): Promise<WorkflowStep> {
  const { key_ids, token_ids } = await look('revokeApiKeysOfUser', { body: { user_id, dry_run: true } })
  return {
    call: callOf('revokeApiKeysOfUser', { body: { user_id, ...reasonField(reason) } }),
    summary: `Revoke the API keys that ${username} has or created, and the enrollment tokens that the user or these keys created`,
    affects: [
      ...key_ids.map((id): StoredParty => ({ type: 'api_key', id, name: null })),
      ...token_ids.map((id): StoredParty => ({ type: 'enrollment_token', id, name: null })),
    ],
    onError: 'continue',
  }
}

/** Most pages of a list that are read. */
const mostPages = 500

/**
 * Reads the items of a list page by page, until `take` returns that there are enough. False if the list has more than
 * the limit.
 */
export async function walk<T>(
  read: (cursor: string | undefined) => Promise<{ items: readonly T[]; next_cursor: string | null }>,
  take: (item: T) => 'go on' | 'enough',
): Promise<boolean> {
  let cursor: string | undefined
  for (let n = 0; n < mostPages; n++) {
    const page = await read(cursor)
    for (const item of page.items) if (take(item) === 'enough') return true
    if (page.next_cursor === null) return true
    cursor = page.next_cursor
  }
  return false
}
