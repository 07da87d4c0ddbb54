import { encodeId } from '../../kernel/ids.ts'
import type { EndOfUsers } from '../../memory/end-of-users.ts'
import type { Audit } from '../audit/index.ts'
import { revokeTokensOf } from './tokens.queries.ts'

/** Revokes the enrollment tokens whose devices would be those of these users. */
export const createEndTokens =
  ({ audit, now }: { audit: Audit; now: () => Date }): EndOfUsers =>
  async (tx, source, users, reason) => {
    const revoked = await revokeTokensOf(
      tx,
      source.tenantId,
      users.map((u) => u.user_id),
      now(),
    )
    await audit.recordAll(
      tx,
      revoked.map(({ token_id, name }) => {
        const id = encodeId('enrollment_token', token_id)
        return {
          source,
          kind: 'enrollment_token.revoked',
          fields: { token_id: id },
          more: { target: { type: 'enrollment_token', id, name: name || null }, details: { reason } },
        } as const
      }),
    )
    return { count: revoked.length, changes: revoked.map((t) => ({ kind: 'enrollment_token', subject: t.token_id })) }
  }
