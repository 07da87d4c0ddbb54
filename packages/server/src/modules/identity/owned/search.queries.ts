import { type RawBuilder, sql } from 'kysely'
import type { TenantId } from '../../../kernel/actor.ts'
import { ownExternalId } from '../people/users.queries.ts'

/** Comparison of one attribute in a search. Search text is already in lower case. */
export type Searched =
  | { kind: 'id'; noun: 'user' | 'group'; column: RawBuilder<unknown> }
  /**
   * `indexed` is compared with a search text, since it has an index. It never equals the text for an entry without a
   * value.
   */
  | { kind: 'exact'; column: RawBuilder<unknown>; indexed: RawBuilder<unknown> }
  | { kind: 'text' | 'truth' | 'time'; column: RawBuilder<unknown> }
  /** An attribute with several values: its rows and their comparable parts. `value` is the default part. */
  | { kind: 'many'; rows: RawBuilder<unknown>; parts: Readonly<Record<string, Searched>> }
export type SearchedEntry = Readonly<Record<string, Searched>>

const attributeText = (...path: readonly string[]) => {
  const steps = path.map((name, i) => sql`${sql.raw(i === path.length - 1 ? '->>' : '->')} ${sql.lit(name)}`)
  return sql`lower(u.directory_attributes ${sql.join(steps, sql` `)})`
}
const nameParts = ['formatted', 'familyName', 'givenName', 'middleName', 'honorificPrefix', 'honorificSuffix']

export const searchedUsers: SearchedEntry = {
  id: { kind: 'id', noun: 'user', column: sql`u.user_id` },
  externalId: {
    kind: 'exact',
    column: sql`nullif(u.external_id, ${ownExternalId('')}::text || u.user_id)`,
    indexed: sql`u.external_id`,
  },
  userName: { kind: 'text', column: sql`u.username_key` },
  displayName: { kind: 'text', column: attributeText('displayName') },
  active: { kind: 'truth', column: sql`u.status = 'active'` },
  ...Object.fromEntries(
    nameParts.map((part) => [`name.${part}`, { kind: 'text', column: attributeText('name', part) } as const]),
  ),
  emails: {
    kind: 'many',
    rows: sql`jsonb_array_elements(coalesce(u.directory_attributes -> 'emails', '[]'::jsonb)) as each (said)
      where true`,
    parts: {
      value: { kind: 'text', column: sql`lower(each.said ->> 'value')` },
      type: { kind: 'text', column: sql`lower(each.said ->> 'type')` },
      display: { kind: 'text', column: sql`lower(each.said ->> 'display')` },
      primary: { kind: 'truth', column: sql`(each.said ->> 'primary')::boolean` },
    },
  },
  'meta.resourceType': { kind: 'text', column: sql`'user'::text` },
  'meta.created': { kind: 'time', column: sql`u.created_at` },
  'meta.lastModified': { kind: 'time', column: sql`u.updated_at` },
}

export const searchedGroups = (tenant: TenantId): SearchedEntry => ({
  id: { kind: 'id', noun: 'group', column: sql`g.group_id` },
  externalId: {
    kind: 'exact',
    column: sql`nullif(g.external_id, ${ownExternalId('')}::text || g.group_id)`,
    indexed: sql`g.external_id`,
  },
  displayName: { kind: 'text', column: sql`g.name_key` },
  members: {
    kind: 'many',
    rows: sql`group_members m where m.tenant_id = ${tenant} and m.group_id = g.group_id`,
    parts: { value: { kind: 'id', noun: 'user', column: sql`m.user_id` } },
  },
  'meta.resourceType': { kind: 'text', column: sql`'group'::text` },
  'meta.created': { kind: 'time', column: sql`g.created_at` },
  'meta.lastModified': { kind: 'time', column: sql`g.updated_at` },
})
