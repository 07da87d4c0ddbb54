import type { Database } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { freshUntil } from '../../../kernel/fresh.ts'
import type { IdentityDeps } from '../deps.ts'
import { present } from '../people/subject.ts'
import { findUser } from '../people/users.queries.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { countRecoveryCodes } from './second-factor.queries.ts'

type Person = Actor<'session' | 'api_key'>

/** Who is calling. */
export function createMe({
  db,
  tenancy,
  sessions,
}: {
  db: Database
  tenancy: Pick<IdentityDeps['tenancy'], 'nameOf'>
  sessions: Pick<Sessions, 'idleExpiresAt'>
}) {
  return async ({ principal, tenantId }: Person) => {
    const tenantName = (await tenancy.nameOf(tenantId)) ?? ''
    if (principal.kind !== 'session')
      return { tenantName, session: null, idleExpiresAt: null, user: null, recoveryCodes: 0, steppedUpUntil: null }
    const { tenantId: home, userId, mfa, steppedUpAt } = principal
    return db.inTenant(home, async (tx) => ({
      tenantName,
      session: principal,
      idleExpiresAt: await sessions.idleExpiresAt(tx, principal),
      user: present(await findUser(tx, home, userId)),
      recoveryCodes: mfa ? await countRecoveryCodes(tx, home, userId) : 0,
      steppedUpUntil: steppedUpAt && freshUntil(steppedUpAt),
    }))
  }
}
export type Me = ReturnType<typeof createMe>
