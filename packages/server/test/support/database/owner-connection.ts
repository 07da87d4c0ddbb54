import pg from 'pg'
import type { Kit } from '../deployment/deployment.ts'

/** Connects as the owner of the tables. */
export async function connectOwner(kit: Kit) {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  client.on('error', () => {})
  await client.connect()
  kit.after(() => client.end())
  return client
}

export type OwnerConnection = Awaited<ReturnType<typeof connectOwner>>

export const queryValue = async <T>(owner: OwnerConnection, text: string, values: unknown[] = []): Promise<T> =>
  (await owner.query(text, values)).rows[0]?.value as T

export const countRows = (owner: OwnerConnection, table: string, condition = 'true') =>
  queryValue<number>(owner, `select count(*)::int as value from ${table} where ${condition}`)
