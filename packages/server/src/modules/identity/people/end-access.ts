import { encodeId } from '../../../kernel/ids.ts'
import type { Audit } from '../../audit/index.ts'
import type { EndOfUsers, NamedUser } from '../../offboarding/index.ts'
import { deleteFactorsOf, deleteRolesOf } from './end-access.queries.ts'
import type { SessionEnds } from './ports.ts'

const idsOf = (users: readonly NamedUser[]) => users.map((user) => user.user_id)
const personOf = ({ user_id: id, username: name }: NamedUser) => {
  const user_id = encodeId('user', id)
  return { user_id, target: { type: 'user', id: user_id, name } } as const
}

/** Ends what this module keeps that gives users access, for `modules/offboarding`. */
export function createEndAccess({ audit, sessions }: { audit: Audit; sessions: Pick<SessionEnds, 'endOfUsers'> }) {
  const second_factors: EndOfUsers = async (tx, source, users, reason) => {
    const had = await deleteFactorsOf(tx, source.tenantId, idsOf(users))
    const ended = users.filter((u) => had.has(u.user_id)).map(personOf)
    await audit.recordAll(
      tx,
      ended.map(({ user_id, target }) => ({
        source,
        kind: 'user.mfa_disabled',
        fields: { user_id },
        more: { target, details: { reason } },
      })),
    )
    return { count: ended.length, changes: [] }
  }

  const roles: EndOfUsers = async (tx, source, users, reason) => {
    const known = new Map(users.map((u) => [u.user_id, personOf(u)]))
    const revoked = await deleteRolesOf(tx, source.tenantId, [...known.keys()])
    await audit.recordAll(
      tx,
      revoked.flatMap(({ user_id: id, role }) => {
        const person = known.get(id)
        if (!person) return []
        const { user_id, target } = person
        return {
          source,
          kind: 'role.revoked',
          fields: { user_id, role },
          more: { target, details: { reason } },
        } as const
      }),
    )
    return { count: revoked.length, changes: [] }
  }

  const admin_sessions: EndOfUsers = async (tx, source, users) => {
    const ended = await sessions.endOfUsers(tx, source, idsOf(users))
    return { count: ended.length, changes: ended }
  }

  return { roles, second_factors, admin_sessions }
}
