import type { Requester } from '../../db/tables/operations.ts'
import type { Actor, Principal } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Access } from '../access/index.ts'
import type { RunRow } from './runs.queries.ts'

/** Who asks, so that the run can go on without them. */
export function requesterOf({ principal, type, id, name, origin, sourceIp, userAgent }: Actor): Requester {
  if (principal.kind !== 'session' && principal.kind !== 'api_key') return fail('forbidden', 'an administrator runs it')
  const user_id = principal.kind === 'session' ? principal.userId : principal.ownerId
  return {
    ...{ type, id, name },
    credential: { kind: principal.kind, tenant_id: principal.tenantId, id: principal.id, user_id },
    origin: origin === 'console' ? 'console' : 'api',
    source_ip: sourceIp,
    user_agent: userAgent,
  }
}

/** The person behind a request; null for a key of the deployment. */
export const personOf = ({ credential: { tenant_id, user_id } }: Pick<Requester, 'credential'>): string | null =>
  user_id && `${tenant_id}/${user_id}`

/**
 * Whoever asked for a run, with what they may do now. The audit log has what they change under the run's id as
 * `request_id`. Undefined when they may do nothing any more.
 */
export const createActorOf =
  (standingOf: Access['standingOf']) =>
  async (run: RunRow): Promise<Actor | undefined> => {
    const { credential, origin, source_ip, user_agent, type, id, name } = run.requested_by
    const standing = await standingOf(credential, run.tenant_id)
    if (!standing) return undefined
    const common = { ...standing, tenantId: credential.tenant_id, id: credential.id, name: name ?? '' }
    const principal: Principal =
      credential.kind === 'api_key'
        ? { ...common, kind: 'api_key', ownerId: credential.user_id, standsForPerson: true, directory: null }
        : {
            ...common,
            kind: 'session',
            userId: credential.user_id ?? '',
            startedAt: run.created_at,
            expiresAt: run.created_at,
            idleSeconds: 0,
            authMethod: 'workflow',
            providerId: null,
            mfa: false,
            steppedUpAt: null,
            requiredAction: null,
          }
    return {
      ...{ principal, id, name, origin },
      type: type as Actor['type'],
      tenantId: run.tenant_id,
      sourceIp: source_ip,
      userAgent: user_agent,
      requestId: encodeId('workflow_run', run.workflow_run_id),
      claim: null,
    }
  }
export type ActorOf = ReturnType<typeof createActorOf>
