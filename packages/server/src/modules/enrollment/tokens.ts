import { isStoredAs, mintToken, type Peppers } from '@holdfast/crypto'
import ipaddr from 'ipaddr.js'
import type { Database, Tx } from '../../db/database.ts'
import type { Incoming, PresentedToken, Verdict } from '../../http/authenticate.ts'
import type { Actor, Source, TenantId } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import { decodeId, encodeId, missing, newUuid } from '../../kernel/ids.ts'
import { day, second } from '../../kernel/time.ts'
import type { Expected } from '../../kernel/version.ts'
import type { Change, Changes } from '../../memory/changes.ts'
import { createCredentialCache } from '../../memory/credential-cache.ts'
import type { Memory } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import { knownGroups, requireNotStronger } from '../identity/index.ts'
import * as queries from './tokens.queries.ts'

type TokenInput = {
  name?: string
  kind?: 'enroll' | 'bootstrap'
  max_uses?: number
  expires_in_seconds?: number
  user_id?: string
  group_ids?: string[]
  tags?: string[]
  platforms?: string[]
  allowed_cidrs?: string[]
  requires_approval?: boolean
  ephemeral_seconds?: number
  max_devices_per_user?: number
}
export type TokenRow = NonNullable<Awaited<ReturnType<typeof queries.findToken>>>

type TokenTerms = NonNullable<Awaited<ReturnType<typeof queries.findByLookup>>>

/** What of a token is set after it was made; its uses count by themselves. */
export const versionOf = ({ token_id, revoked_at }: TokenRow) => ({ token_id, revoked_at })

export function createTokens({
  db,
  audit,
  changes,
  feed,
  peppers,
  now,
}: {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  peppers: Peppers
  now: () => Date
}) {
  const target = (row: Pick<TokenRow, 'token_id' | 'name'>) => ({
    target: { type: 'enrollment_token', id: encodeId('enrollment_token', row.token_id), name: row.name || null },
  })

  /** What a token lets its holder do never changes; its uses and its end are judged under its lock when it is used. */
  const known = createCredentialCache<PresentedToken, TokenTerms>({
    max: 50_000,
    feed,
    changes,
    load: async (presented) => {
      const { tenant, id } = presented
      const row = await db.inTenant(tenant, (tx) => queries.findByLookup(tx, tenant, id))
      return row && isStoredAs(peppers, presented, row.secret_digest) ? row : undefined
    },
    subjectsOf: ({ token_id }) => [`enrollment_token:${token_id}`],
  })

  return {
    generate: async (actor: Actor, input: TokenInput): Promise<{ secret: string; row: TokenRow }> => {
      const tenant = actor.tenantId
      const userId =
        input.user_id === undefined ? null : (decodeId('user', input.user_id) ?? failField('user_id', 'no such user'))
      const groupIds = (input.group_ids ?? []).map(
        (id, i) => decodeId('group', id) ?? failField(`group_ids[${i}]`, 'no such group'),
      )
      for (const [i, cidr] of (input.allowed_cidrs ?? []).entries())
        if (!ipaddr.isValidCIDR(cidr)) failField(`allowed_cidrs[${i}]`, 'must be a CIDR such as 203.0.113.0/24')
      const minted = mintToken(peppers, 'hfe', tenant)
      const at = now()
      const row = await db.inTenant(tenant, async (tx) => {
        if (userId) await requireNotStronger(tx, actor, userId, 'user_id')
        const known = new Set(await knownGroups(tx, tenant, groupIds))
        for (const [i, id] of groupIds.entries()) if (!known.has(id)) failField(`group_ids[${i}]`, 'no such group')
        const inserted = await queries.insertToken(tx, {
          tenant_id: tenant,
          token_id: newUuid(),
          lookup: minted.id,
          secret_digest: minted.digest,
          secret_digest_version: minted.version,
          hint: minted.hint,
          name: input.name ?? '',
          kind: input.kind ?? 'enroll',
          max_uses: input.max_uses ?? 1,
          expires_at: new Date(
            at.getTime() + (input.expires_in_seconds === undefined ? day : input.expires_in_seconds * second),
          ),
          user_id: userId,
          group_ids: groupIds,
          tags: input.tags ?? [],
          platforms: input.platforms ?? [],
          allowed_cidrs: input.allowed_cidrs ?? [],
          requires_approval: input.requires_approval ?? false,
          ephemeral_seconds: input.ephemeral_seconds ?? null,
          max_devices_per_user: input.max_devices_per_user ?? null,
          created_by: actor.id,
          created_at: at,
        })
        const id = encodeId('enrollment_token', inserted.token_id)
        await audit.record(tx, actor, 'enrollment_token.created', { token_id: id }, target(inserted))
        return inserted
      })
      return { secret: minted.token, row }
    },

    find: async (tenant: TenantId, id: string): Promise<TokenRow> =>
      (await db.inTenant(tenant, (tx) => queries.findToken(tx, tenant, id))) ?? missing('enrollment_token'),

    /** Repeating it returns the token and records nothing. */
    revoke: (
      actor: Actor,
      id: string,
      { reason, expected }: { reason?: string | undefined; expected: Expected },
    ): Promise<{ row: TokenRow; changed: boolean }> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const before = (await queries.lockToken(tx, actor.tenantId, id)) ?? missing('enrollment_token')
        expected.require(versionOf(before))
        const revoked = await queries.revokeToken(tx, actor.tenantId, id, now())
        if (!revoked) return { row: before, changed: false }
        await audit.record(
          tx,
          actor,
          'enrollment_token.revoked',
          { token_id: encodeId('enrollment_token', id) },
          {
            ...target(revoked),
            ...(reason !== undefined && { details: { reason } }),
          },
        )
        await changes.record(tx, actor.tenantId, [{ kind: 'enrollment_token', subject: id }])
        return { row: revoked, changed: true }
      }),

    /** Revokes the tokens of users in the transaction that deletes them and records the changes that this answers. */
    revokeOfUsers: async (tx: Tx, source: Source, userIds: readonly string[]): Promise<Change[]> => {
      const revoked = await queries.revokeTokensOf(tx, source.tenantId, userIds, now())
      await audit.recordAll(
        tx,
        revoked.map((row) => ({
          source,
          kind: 'enrollment_token.revoked',
          fields: { token_id: encodeId('enrollment_token', row.token_id) },
          more: { ...target(row), details: { reason: 'its user was deleted' } },
        })),
      )
      return revoked.map((row) => ({ kind: 'enrollment_token', subject: row.token_id }))
    },

    /**
     * A revoked or expired token is no credential. A spent one still says who asks, so that a device whose answer was
     * lost gets it again under its Idempotency-Key; it enrolls nobody.
     */
    verify: async (asked: PresentedToken, { dpop: proof }: Incoming): Promise<Verdict> => {
      const { tenant: tenantId, token } = asked
      const row = await known.get(asked)
      if (!row) return undefined
      const refused = { kind: 'refused', of: 'enrollment_token', tenantId, id: row.token_id, name: row.name } as const
      if (row.revoked_at) return { ...refused, reason: 'revoked' }
      if (row.expires_at <= now()) return { ...refused, reason: 'expired' }
      const { token_id, name, ...terms } = row
      return { kind: 'enrollment_token', tenantId, id: token_id, name, presented: { token, proof }, terms }
    },
  }
}
export type Tokens = ReturnType<typeof createTokens>
