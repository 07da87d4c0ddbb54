import type { Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { failField, failMaximum } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { requirePresence } from '../../../kernel/presence.ts'
import { storable } from '../../../kernel/text.ts'
import type { Audit } from '../../audit/index.ts'
import type { EndOfUsers } from '../../offboarding/index.ts'
import type { FederationDeps } from '../deps.ts'
import { providerIssuer } from './kinds.ts'
import type { LinkRow } from './links.queries.ts'
import * as queries from './links.queries.ts'
import { holdProvider } from './providers.queries.ts'

const mostOfUser = 100
/** A link to make or end: UUIDs of the user and the provider, and the provider's subject of the account. */
type Wanted = { user: string; provider: string; subject: string; reason: string | undefined }

/**
 * Links of users to their accounts at providers. A link lets the account's holder sign in as the user, so it needs the
 * same right as setting a password. Names and email addresses never link an account.
 */
export function createLinks({
  db,
  audit,
  changes,
  now,
  people,
}: Pick<FederationDeps, 'db' | 'audit' | 'changes' | 'now' | 'people'>) {
  async function record(tx: Tx, actor: Actor, operation: 'link' | 'unlink', of: Wanted & { username: string }) {
    const user_id = encodeId('user', of.user)
    const details = {
      provider_id: encodeId('identity_provider', of.provider),
      subject: of.subject,
      ...(of.reason !== undefined && { reason: of.reason }),
    }
    const target = { type: 'user', id: user_id, name: of.username }
    await audit.record(tx, actor, 'user.changed', { operation, user_id }, { target, details })
  }

  return {
    list: (tenant: TenantId, user: string): Promise<LinkRow[]> =>
      db.inTenant(tenant, async (tx) => {
        await people.requireThere(tx, tenant, user)
        return queries.listLinks(tx, tenant, user, mostOfUser)
      }),

    link: (actor: Actor, linkInput: Wanted): Promise<{ link: LinkRow; changed: boolean }> => {
      const { tenantId: tenant } = actor
      const { user, provider, subject } = linkInput
      // A stolen session could otherwise add a lasting way to sign in that asks for neither password nor code.
      if (actor.principal.kind === 'session' && actor.principal.userId === user)
        requirePresence(actor, 'this adds a way to sign in to your account', now())
      if (storable(subject, 255) !== subject) failField('subject', 'has characters that cannot be stored')
      return db.inTenant(tenant, async (tx) => {
        const held = (await holdProvider(tx, tenant, provider)) ?? failField('provider_id', 'no such identity provider')
        const username = await people.requireLinkable(tx, actor, user)
        const issuer =
          providerIssuer(held) ??
          failField('provider_id', 'the metadata of this provider have not been read yet: enable or test it first')
        const account = { provider_id: provider, issuer, subject }
        const before = await queries.findLink(tx, tenant, account)
        if (before?.user_id === user) return { link: before, changed: false }
        const isLeft = before && !(await people.isThere(tx, tenant, before.user_id))
        if (isLeft) await queries.deleteLink(tx, tenant, before.user_id, account)
        if ((await queries.listLinks(tx, tenant, user, mostOfUser)).length >= mostOfUser)
          failMaximum(`the user has ${mostOfUser} linked accounts`, 'remove a link first')
        const row = {
          ...account,
          tenant_id: tenant,
          user_id: user,
          provisioned: false,
          linked_at: now(),
          last_login_at: null,
        }
        if ((before && !isLeft) || !(await queries.insertLink(tx, row)))
          failField('subject', 'is already linked to another user: remove that link first')
        await people.noteSetting(tx, actor, tenant, user, now())
        await record(tx, actor, 'link', { ...linkInput, username })
        return { link: { ...row, provider_name: held.name }, changed: true }
      })
    },

    /** False if there was no such link. */
    unlink: (actor: Actor, linkInput: Wanted): Promise<boolean> => {
      const { tenantId: tenant } = actor
      const { user, provider } = linkInput
      return db.inTenant(tenant, async (tx) => {
        const username = await people.requireLinkable(tx, actor, user)
        if (!(await queries.deleteLink(tx, tenant, user, { provider_id: provider, subject: linkInput.subject })))
          return false
        await record(tx, actor, 'unlink', { ...linkInput, username })
        const ended = await people.endProviderSessions(tx, actor, provider, [user])
        if (ended.length > 0) await changes.record(tx, tenant, ended)
        return true
      })
    },
  }
}
export type Links = ReturnType<typeof createLinks>

/** Ends the links of users to their accounts at identity providers. */
export const createEndLinks =
  ({ audit }: { audit: Audit }): EndOfUsers =>
  async (tx, source, users, reason) => {
    const nameOf = new Map(users.map((u) => [u.user_id, u.username]))
    const ended = await queries.deleteLinksOf(tx, source.tenantId, [...nameOf.keys()])
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
