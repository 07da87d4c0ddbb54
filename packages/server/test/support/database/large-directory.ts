import pg from 'pg'
import { encodeId } from '../../../src/kernel/ids.ts'
import { pushed, type Scim } from '../clients/scim-client.ts'
import type { Kit } from '../deployment/deployment.ts'

/** Adds users to a directory, the first by SCIM, the others without asking for each: their ids, in their order. */
export async function fillerOf(kit: Kit, now: () => Date) {
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  kit.after(() => owner.end())
  return async (scim: Scim, directory: string, n: number, name = directory): Promise<string[]> => {
    const first = await pushed(scim, [`${name}0`])
    const { rows } = await owner.query<{ user_id: string }>(
      `insert into users (tenant_id, user_id, external_id, username, source, directory_id, created_at)
       select tenant_id, gen_random_uuid(), $3 || n, $3 || n, 'directory', directory_id, $4
       from directories, generate_series(1, $2::integer - 1) as n where provider = $1 order by n returning user_id`,
      [directory, n, name, now()],
    )
    return [...first, ...rows.map(({ user_id }) => encodeId('user', user_id))]
  }
}
