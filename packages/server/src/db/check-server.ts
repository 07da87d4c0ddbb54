import { type Connection, withConnection } from './connection.ts'
import { poolerHelp } from './explain-error.ts'
import { PermanentError } from './unavailable.ts'

/** A PostgreSQL server, database or user that can't be used. The message says how to fix it. */
export class UnsuitableDatabaseError extends PermanentError {}

/** The oldest supported version of PostgreSQL. */
const oldestVersion = 15
const applicationRole = 'holdfast_app'

type Found = {
  user: string
  database: string
  version: number
  is_standby: boolean
  encoding: string
  may_create: boolean
  may_create_roles: boolean
  owner: string | null
  is_owner: boolean
  role: { is_superuser: boolean; bypasses: boolean; may_act: boolean } | null
}

/**
 * Checks an operator's PostgreSQL before anything in it is changed.
 *
 * @throws UnsuitableDatabaseError that names the missing property, and the statement that adds it
 */
export const checkServer = (url: string): Promise<void> =>
  withConnection(url, async (first) => {
    const [found] = await first.ask<Found>(question)
    if (found) refuseUnsuitable(found)
    if (await withConnection(url, (second) => isShared(first, second)))
      throw new UnsuitableDatabaseError(
        `a pooler in transaction mode is between Holdfast and PostgreSQL: ${poolerHelp}.`,
      )
  })

const question = `
  select current_user::text as user, current_database()::text as database,
    current_setting('server_version_num')::int / 10000 as version,
    pg_is_in_recovery() as is_standby,
    current_setting('server_encoding') as encoding,
    has_schema_privilege('public', 'CREATE') as may_create,
    (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as may_create_roles,
    (select tableowner::text from pg_tables where schemaname = 'public' and tablename = 'schema_migrations') as owner,
    coalesce((select pg_has_role(tableowner, 'USAGE') from pg_tables
      where schemaname = 'public' and tablename = 'schema_migrations'), true) as is_owner,
    (select json_build_object('is_superuser', rolsuper, 'bypasses', rolbypassrls,
      'may_act', ${mayActAs('oid')}) from pg_roles where rolname = '${applicationRole}') as role`

/** SQL condition: the user may SET ROLE to this role. PostgreSQL 16 and later distinguish that from membership. */
function mayActAs(role: string): string {
  return `pg_has_role(${role}, case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end)`
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

function refuseUnsuitable(found: Found): void {
  const user = quoted(found.user)
  const lacks = (what: string, statement: string) =>
    new UnsuitableDatabaseError(`user ${user} ${what}: run ${statement}; as a superuser in database ${found.database}.`)
  if (found.version < oldestVersion)
    throw new UnsuitableDatabaseError(
      `it is PostgreSQL ${found.version}, but Holdfast needs ${oldestVersion} or newer: upgrade PostgreSQL.`,
    )
  if (found.is_standby)
    throw new UnsuitableDatabaseError('it is a standby, which accepts no writes: connect to the primary.')
  if (found.encoding !== 'UTF8')
    throw new UnsuitableDatabaseError(
      `database ${found.database} has the encoding ${found.encoding}: create a database with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.`,
    )
  if (!found.is_owner)
    throw lacks(
      `does not own the tables of Holdfast, which belong to ${quoted(found.owner ?? '')}`,
      `GRANT ${quoted(found.owner ?? '')} TO ${user}`,
    )
  if (!found.may_create)
    throw lacks('lacks the privilege CREATE on schema public', `GRANT CREATE, USAGE ON SCHEMA public TO ${user}`)
  const { role } = found
  if (!role && !found.may_create_roles)
    throw lacks(
      `may not create roles, and the role ${applicationRole} does not exist`,
      `CREATE ROLE ${applicationRole} NOLOGIN; GRANT ${applicationRole} TO ${user}`,
    )
  if (role?.is_superuser || role?.bypasses)
    throw new UnsuitableDatabaseError(
      `the role ${applicationRole} bypasses row-level security, which isolates tenants: run ALTER ROLE ${applicationRole} NOSUPERUSER NOBYPASSRLS; as a superuser.`,
    )
  if (role && !role.may_act && !found.may_create_roles)
    throw lacks(`may not switch to the role ${applicationRole}`, `GRANT ${applicationRole} TO ${user}`)
}

/**
 * True if two connections get the same backend in turn. A pooler in transaction mode gives the second connection the
 * idle backend of the first one, or gives the first one another backend after the second has taken its own.
 */
async function isShared(first: Connection, second: Connection): Promise<boolean> {
  const backendOf = async (connection: Connection) =>
    (await connection.ask<{ pid: number }>('select pg_backend_pid() as pid'))[0]?.pid
  const before = await backendOf(first)
  await second.ask('begin')
  try {
    const other = await backendOf(second)
    return other === before || (await backendOf(first)) !== before
  } finally {
    await second.ask('rollback')
  }
}

/** True if the role exists and this user may act as it. Then the user needs no right to create or grant it. */
export async function hasApplicationRole(connection: Connection): Promise<boolean> {
  const [row] = await connection.ask<{ may_act: boolean }>(
    `select ${mayActAs('oid')} as may_act from pg_roles where rolname = '${applicationRole}'`,
  )
  return row?.may_act === true
}
