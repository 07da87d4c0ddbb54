import type { InstallLines } from '@holdfast/contract/enrollment-settings'
import { isStoredAs, mintToken, type Peppers } from '@holdfast/crypto'
import ipaddr from 'ipaddr.js'
import type { Database } from '../../db/database.ts'
import type { CredentialVerdict, IncomingRequest, PresentedToken } from '../../http/admission/authenticate.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import { decodeId, encodeId, missing, newUuid } from '../../kernel/ids.ts'
import { day, second } from '../../kernel/time.ts'
import type { ExpectedVersion } from '../../kernel/version.ts'
import type { Changes } from '../../replication/changes.ts'
import { createCredentialCache } from '../../replication/credential-cache.ts'
import type { Memory } from '../../replication/tenant-cache.ts'
import type { Audit } from '../audit/index.ts'
import { knownGroups, requireNotStronger } from '../identity/index.ts'
import type { Tenancy } from '../tenancy/index.ts'
import { attemptsOf, type TokenAttempts } from './attempts.queries.ts'
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

/** `installLines` contain the secret, like `secret`. */
type Generated = { secret: string; row: TokenRow; installLines: InstallLines }

type TokenTerms = NonNullable<Awaited<ReturnType<typeof queries.findTokenByLookup>>>

/** Version of a token: the fields that can change by request. Its uses are not part of it. */
export const tokenVersion = ({ token_id, revoked_at }: TokenRow) => ({ token_id, revoked_at })

export function createTokens({
  db,
  audit,
  changes,
  feed,
  peppers,
  installLines,
  now,
}: {
  db: Database
  audit: Audit
  installLines: Tenancy['installLines']
  changes: Changes
  feed: Memory['feed']
  peppers: Peppers
  now: () => Date
}) {
  const target = (row: TokenRow) => ({
    target: { type: 'enrollment_token', id: encodeId('enrollment_token', row.token_id), name: row.name || null },
  })

  /** The terms of a token never change. Its remaining uses and expiry are checked under its lock at enrollment. */
  const known = createCredentialCache<PresentedToken, TokenTerms>({
    max: 50_000,
    feed,
    changes,
    load: async (presented) => {
      const { tenant, id } = presented
      const row = await db.inTenant(tenant, (tx) => queries.findTokenByLookup(tx, tenant, id))
      return row && isStoredAs(peppers, presented, row.secret_digest) ? row : undefined
    },
    subjectsOf: ({ token_id }) => [`enrollment_token:${token_id}`],
  })

  return {
    generate: async (actor: Actor, input: TokenInput): Promise<Generated> => {
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
      return db.inTenant(tenant, async (tx) => {
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
        const { kind, platforms } = inserted
        const lines = await installLines(tx, tenant, { secret: minted.token, kind, platforms })
        return { secret: minted.token, row: inserted, installLines: lines }
      })
    },

    find: (tenant: TenantId, id: string): Promise<{ row: TokenRow; attempts: TokenAttempts | undefined }> =>
      db.inTenant(tenant, async (tx) => {
        const row = (await queries.findToken(tx, tenant, id)) ?? missing('enrollment_token')
        return { row, attempts: (await attemptsOf(tx, tenant, [id])).get(id) }
      }),

    /** A repeated call returns the token and records nothing. */
    revoke: (
      actor: Actor,
      id: string,
      { reason, expected }: { reason?: string | undefined; expected: ExpectedVersion },
    ): Promise<{ row: TokenRow; attempts: TokenAttempts | undefined; changed: boolean }> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const before = (await queries.lockToken(tx, actor.tenantId, id)) ?? missing('enrollment_token')
        expected.require(tokenVersion(before))
        const attempts = (await attemptsOf(tx, actor.tenantId, [id])).get(id)
        const revoked = await queries.revokeToken(tx, actor.tenantId, id, now())
        if (!revoked) return { row: before, attempts, changed: false }
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
        return { row: revoked, attempts, changed: true }
      }),

    /**
     * A revoked or expired token is refused. An exhausted one still identifies the caller, so that a device whose
     * answer was lost gets it again under its Idempotency-Key; it enrolls no other device.
     */
    verify: async (presented: PresentedToken, { dpop: proof }: IncomingRequest): Promise<CredentialVerdict> => {
      const { tenant: tenantId, token } = presented
      const row = await known.get(presented)
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
