import { encodeId } from '../../../kernel/ids.ts'
import type { Audit } from '../../audit/index.ts'
import type { EndOfUsers } from '../../offboarding/index.ts'
import { deleteLinksOf } from '../providers/links.queries.ts'

/** Ends the links of users to their accounts at identity providers. */
export const createEndLinks =
  ({ audit }: { audit: Audit }): EndOfUsers =>
  async (tx, source, users, reason) => {
    const nameOf = new Map(users.map((u) => [u.user_id, u.username]))
    const ended = await deleteLinksOf(tx, source.tenantId, [...nameOf.keys()])
    await audit.recordAll(
      tx,
      ended.map(({ user_id: id, provider_id, subject }) => {
        const user_id = encodeId('user', id)
        return {
          source,
          kind: 'user.changed',
          fields: { operation: 'unlink', user_id },
          more: {
            target: { type: 'user', id: user_id, name: nameOf.get(id) ?? null },
            details: { provider_id: encodeId('identity_provider', provider_id), subject, reason },
          },
        } as const
      }),
    )
    return { count: ended.length, changes: [] }
  }
