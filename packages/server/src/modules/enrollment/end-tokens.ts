import type { Database, Tx } from '../../db/database.ts'
import type { Source } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Change } from '../../replication/changes.ts'
import type { TokensOfMakers } from '../access/index.ts'
import type { Audit } from '../audit/index.ts'
import type { EndOfUsers } from '../offboarding/index.ts'
import { findTokensMadeBy, revokeTokensMadeBy, revokeTokensOf, tenantsWithTokensMadeBy } from './tokens.queries.ts'

type Deps = { db: Database; audit: Audit; now: () => Date }

/** Writes the revocation of these tokens to the audit log. Returns the changes, which the caller must record. */
async function recordRevoked(
  audit: Audit,
  tx: Tx,
  source: Source,
  revoked: readonly { token_id: string; name: string }[],
  reason: string | undefined,
): Promise<Change[]> {
  await audit.recordAll(
    tx,
    revoked.map(({ token_id, name }) => {
      const id = encodeId('enrollment_token', token_id)
      return {
        source,
        kind: 'enrollment_token.revoked',
        fields: { token_id: id },
        more: {
          target: { type: 'enrollment_token', id, name: name || null },
          ...(reason !== undefined && { details: { reason } }),
        },
      } as const
    }),
  )
  return revoked.map((t) => ({ kind: 'enrollment_token', subject: t.token_id }))
}

/** Revokes the enrollment tokens that would enroll devices for these users. */
export const createEndTokens =
  ({ audit, now }: Deps): EndOfUsers =>
  async (tx, source, users, reason) => {
    const ids = users.map((u) => u.user_id)
    const changes = await recordRevoked(
      audit,
      tx,
      source,
      await revokeTokensOf(tx, source.tenantId, ids, now()),
      reason,
    )
    return { count: changes.length, changes }
  }

/** Enrollment tokens created by these users or API keys, for any user. */
export const createTokensOfMakers = ({ db, audit, now }: Deps): TokensOfMakers => ({
  find: (tx, tenant, makers) => findTokensMadeBy(tx, tenant, makers, now()),
  revoke: async (tx, source, makers, reason) =>
    recordRevoked(audit, tx, source, await revokeTokensMadeBy(tx, source.tenantId, makers, now()), reason),
  tenants: (makers) => db.acrossTenants((tx) => tenantsWithTokensMadeBy(tx, makers, now())),
})
