import type { RunRequester } from '../../db/tables/workflows.ts'
import { type Actor, type Principal, personsBehind } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Access } from '../access/index.ts'
import type { WorkflowRunRow } from './runs.queries.ts'

/** Returns the requester as it is stored, so that the run can continue without them. */
export function requesterOf({ principal, type, id, name, origin, sourceIp, userAgent }: Actor): RunRequester {
  if (principal.kind !== 'session' && principal.kind !== 'api_key')
    return fail('forbidden', 'only an administrator or an API key can run a workflow')
  const user_id = principal.kind === 'session' ? principal.userId : principal.ownerId
  return {
    type,
    id,
    name,
    credential: { kind: principal.kind, tenant_id: principal.tenantId, id: principal.id, user_id },
    origin: origin === 'console' ? 'console' : 'api',
    source_ip: sourceIp,
    user_agent: userAgent,
    stands_for: [...personsBehind({ principal })],
  }
}

/** Returns the people behind a request, and the account that it spoke for. Empty for a key of the deployment. */
export const personsOf = ({ credential: { user_id }, stands_for = [] }: RunRequester): readonly string[] =>
  user_id === null ? stands_for : [...stands_for, user_id]

/**
 * Returns the requester of a run with their present rights. In the audit log their changes have the run's id as
 * `request_id`. Undefined if they have no rights any more.
 */
export const createActorOf =
  (standingOf: Access['standingOf']) =>
  async (run: WorkflowRunRow): Promise<Actor | undefined> => {
    const { credential, origin, source_ip, user_agent, type, id, name } = run.requested_by
    const permissions = await standingOf(credential, run.tenant_id)
    if (!permissions) return undefined
    const { standsFor, ...rights } = permissions
    const common = { ...rights, tenantId: credential.tenant_id, id: credential.id, name: name ?? '' }
    const principal: Principal =
      credential.kind === 'api_key'
        ? { ...common, kind: 'api_key', ownerId: credential.user_id, standsForPerson: true, standsFor, directory: null }
        : {
            ...common,
            kind: 'session',
            userId: credential.user_id ?? '',
            // The requester is not present during a run, so it proves no recent sign-in.
            startedAt: new Date(0),
            expiresAt: run.created_at,
            idleSeconds: 0,
            idleExpiresAt: run.created_at,
            authMethod: 'workflow',
            providerId: null,
            mfa: false,
            steppedUpAt: null,
            requiredAction: null,
          }
    return {
      principal,
      id,
      name,
      origin,
      type: type as Actor['type'],
      tenantId: run.tenant_id,
      sourceIp: source_ip,
      userAgent: user_agent,
      requestId: encodeId('workflow_run', run.workflow_run_id),
      claim: null,
    }
  }
export type ActorOf = ReturnType<typeof createActorOf>
