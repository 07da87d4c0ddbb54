import { withConnection } from '../../db/connection.ts'

/**
 * Returns the ids of the master keys under which a database has data. It is called before a migration, so the schema
 * may be of any version.
 */
export const masterKeysInUse = (url: string): Promise<string[]> =>
  withConnection(url, async (connection) => {
    const [there] = await connection.ask<{ tenants: boolean; master_keys: boolean }>(
      "select to_regclass('public.tenants') is not null as tenants, to_regclass('public.master_keys') is not null as master_keys",
    )
    if (!there?.tenants) return []
    const keys = there.master_keys
      ? await connection.ask<{ key_id: string }>(
          'select key_id from master_keys where written_at is not null and unused_since is null order by version',
        )
      : []
    if (keys.length > 0) return keys.map((row) => row.key_id)
    const [tenant] = await connection.ask('select from tenants limit 1')
    return tenant ? ['a key whose id is not recorded yet'] : []
  })
