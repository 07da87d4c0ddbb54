import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type Link = Selectable<Tables['user_identities']>
/** An account at a provider. These three values alone identify it. */
export type ProviderAccount = Pick<Link, 'provider_id' | 'issuer' | 'subject'>
export type LinkRow = Link & { provider_name: string }

const selectLinks = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('user_identities')
    .selectAll()
    .select(
      sql<string>`(select p.name from identity_providers p
        where p.tenant_id = user_identities.tenant_id and p.provider_id = user_identities.provider_id)`.as(
        'provider_name',
      ),
    )
    .where('tenant_id', '=', tenant)

export const listLinks = (tx: Tx, tenant: TenantId, user: string, most: number): Promise<LinkRow[]> =>
  selectLinks(tx, tenant).where('user_id', '=', user).orderBy('linked_at').orderBy('subject').limit(most).execute()

export const findLink = (tx: Tx, tenant: TenantId, { provider_id, issuer, subject }: ProviderAccount) =>
  selectLinks(tx, tenant)
    .where('provider_id', '=', provider_id)
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()

/** False if the account is already linked to a user. */
export const insertLink = (tx: Tx, link: Link): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('user_identities')
      .values(link)
      .onConflict((c) => c.columns(['tenant_id', 'provider_id', 'issuer', 'subject']).doNothing())
      .returning('user_id'),
  )

/**
 * False if the account is no longer linked to this user. Otherwise the link is locked until commit. The user's row is
 * already locked.
 */
export const holdLink = (tx: Tx, tenant: TenantId, user: string, account: ProviderAccount): Promise<boolean> =>
  affectedRow(
    tx
      .selectFrom('user_identities')
      .select('user_id')
      .where('tenant_id', '=', tenant)
      .where('provider_id', '=', account.provider_id)
      .where('issuer', '=', account.issuer)
      .where('subject', '=', account.subject)
      .where('user_id', '=', user)
      .forNoKeyUpdate(),
  )

/** Like `holdLink`, and also stores the time of the sign-in. */
export const useLink = (tx: Tx, tenant: TenantId, user: string, account: ProviderAccount, at: Date): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('user_identities')
      .set({ last_login_at: at })
      .where('tenant_id', '=', tenant)
      .where('provider_id', '=', account.provider_id)
      .where('issuer', '=', account.issuer)
      .where('subject', '=', account.subject)
      .where('user_id', '=', user)
      .returning('user_id'),
  )

/** True for the one call that ended the link. */
export const deleteLink = (
  tx: Tx,
  tenant: TenantId,
  user: string,
  { provider_id, subject }: Pick<ProviderAccount, 'provider_id' | 'subject'>,
): Promise<boolean> =>
  affectedRow(
    tx
      .deleteFrom('user_identities')
      .where('tenant_id', '=', tenant)
      .where('provider_id', '=', provider_id)
      .where('subject', '=', subject)
      .where('user_id', '=', user)
      .returning('user_id'),
  )

/**
 * Returns the users with one of these roles who have a linked account at the provider, under any issuer. Deleted users
 * are included, since they may be restored. Each holder of a role is looked up by itself: a join may walk all linked
 * users.
 */
export const selectLinkedWithRole = async (
  tx: Tx,
  tenant: TenantId,
  providerId: string,
  roles: readonly string[],
): Promise<{ user_id: string; username: string; roles: string[] }[]> => {
  const { rows } = await sql<{ user_id: string; username: string; roles: string[] }>`
    select r.user_id, u.username, array_agg(r.role order by r.role) as roles
    from user_roles r join users u on u.tenant_id = ${tenant} and u.user_id = r.user_id
    where r.tenant_id = ${tenant} and r.role = any(${roles}::text[]) and (
      select l.user_id from user_identities l
      where l.tenant_id = ${tenant} and l.provider_id = ${providerId} and l.user_id = r.user_id limit 1) is not null
    group by r.user_id, u.username order by r.user_id`.execute(tx)
  return rows
}

/** Ends all links of these users to the provider. Rows are locked in the order of their keys. */
export const deleteLinksTo = async (
  tx: Tx,
  tenant: TenantId,
  providerId: string,
  users: readonly string[],
): Promise<Pick<Link, 'user_id' | 'subject'>[]> => {
  const { rows } = await sql<Pick<Link, 'user_id' | 'subject'>>`
    with locked as (
      select issuer, subject from user_identities
      where tenant_id = ${tenant} and provider_id = ${providerId} and user_id = any(${users}::uuid[])
      order by issuer, subject for update)
    delete from user_identities d using locked
    where d.tenant_id = ${tenant} and d.provider_id = ${providerId}
      and d.issuer = locked.issuer and d.subject = locked.subject
    returning d.user_id, d.subject`.execute(tx)
  return rows
}

/** Ends all links of these users. Their user rows are locked. */
export const deleteLinksOf = async (tx: Tx, tenant: TenantId, users: readonly string[]) => {
  const { rows } = await sql<Pick<Link, 'user_id' | 'provider_id' | 'subject'>>`
    with locked as (
      select provider_id, issuer, subject from user_identities
      where tenant_id = ${tenant} and user_id = any(${users}::uuid[])
      order by provider_id, issuer, subject for update)
    delete from user_identities i using locked l
    where i.tenant_id = ${tenant} and i.provider_id = l.provider_id and i.issuer = l.issuer and i.subject = l.subject
    returning i.user_id, i.provider_id, i.subject`.execute(tx)
  return rows
}
