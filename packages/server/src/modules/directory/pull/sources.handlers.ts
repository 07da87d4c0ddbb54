import type { DirectorySource } from '@holdfast/contract/directory-sources'
import type { Handlers } from '../../../http/handlers.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { requireSame, versioned } from '../../../kernel/version.ts'
import { viewDirectoryRun as viewRun } from '../directory.handlers.ts'
import type { createDismiss } from '../runs.ts'
import { PullError } from './pull-error.ts'
import type { Pulls } from './pulls.ts'
import type { SourceFields, SourceRow } from './sources.queries.ts'
import { type Sources, sourceVersion } from './sources.ts'

/** Fields that a PUT cannot set, but may repeat unchanged. */
const fixed = ['source_id', 'tenant_id', 'provider', 'kind', 'created_at'] as const
type Wire = Pick<DirectorySource, 'enabled' | 'issuer' | 'client_id' | 'interval_minutes' | 'users' | 'groups'>

type HandlerDeps = { sources: Sources; pulls: Pulls; dismiss: ReturnType<typeof createDismiss> }

export function sourceHandlers({ sources, pulls, dismiss }: HandlerDeps) {
  const cancel = async (actor: Actor, id: string, reason: string | undefined) => {
    const dismissed = await dismiss(actor, id, reason)
    return dismissed ? { run: dismissed, changed: true } : pulls.cancel(actor, id, reason)
  }
  const idIn = (params: { source_id: string }) => idOf('directory_source', params.source_id)
  return {
    listDirectorySources: async ({ actor, query }) => {
      const found = await sources.list(actor.tenantId, query)
      return { items: found.items.map(view), next_cursor: found.next_cursor }
    },
    createDirectorySource: async ({ actor, body: { credential, users, groups, ...rest } }) => {
      const take = { ...(users && { take_users: users }), ...(groups && groupsOf(groups)) }
      return view(await sources.create(actor, { ...rest, ...take }, credential))
    },
    getDirectorySource: async ({ actor, params }) => {
      const row = await sources.get(actor.tenantId, idIn(params))
      return versioned(sourceVersion(row), view(row))
    },
    updateDirectorySource: async ({ actor, params, body, expected }) => {
      const { credential } = body
      return view(
        await sources.replace(actor, idIn(params), { fields: fieldsOf(body), credential }, (before) => {
          expected.require(sourceVersion(before))
          requireSame(view(before), body, fixed)
        }),
      )
    },
    deleteDirectorySource: async ({ actor, params, expected }) => ({
      changed: await sources.remove(actor, idIn(params), expected),
    }),
    testDirectorySource: async ({ actor, params }) => {
      const found = await sources.test(actor, idIn(params))
      if (found instanceof PullError) return { ok: false, problem: found.message, found: null }
      return { ok: true, problem: null, found }
    },
    runDirectorySource: async ({ actor, params, body }) => begun(await pulls.begin(actor, idIn(params), body)),
    runKeycloakSync: async ({ actor, body }) => begun(await pulls.beginOnly(actor, body)),
    runIdpSync: async ({ actor, body }) => begun(await pulls.beginOnly(actor, body)),
    cancelDirectoryRun: async ({ actor, params, body }) => {
      const { run, changed } = await cancel(actor, idOf('directory_run', params.run_id), body.reason)
      return { run: viewRun(run), changed }
    },
  } satisfies Partial<Handlers>
}

const begun = ({ run, begun: isNew }: Awaited<ReturnType<Pulls['begin']>>) => ({ run: viewRun(run), begun: isNew })

const groupsOf = ({ take, names }: DirectorySource['groups']) => ({ take_groups: take, group_names: names })
const fieldsOf = ({ enabled, issuer, client_id, interval_minutes, users, groups }: Wire): SourceFields => ({
  enabled,
  issuer,
  client_id,
  interval_minutes,
  take_users: users,
  ...groupsOf(groups),
})

const view = (s: SourceRow): DirectorySource => ({
  source_id: encodeId('directory_source', s.source_id),
  tenant_id: encodeId('tenant', s.tenant_id),
  provider: s.provider,
  kind: s.kind,
  enabled: s.enabled,
  issuer: s.issuer,
  client_id: s.client_id,
  interval_minutes: s.interval_minutes,
  users: s.take_users,
  groups: { take: s.take_groups, names: s.group_names },
  credential_set: s.credential_jwe !== null,
  next_run_at: s.next_run_at?.toISOString() ?? null,
  failures: s.failures,
  failing_since: s.failing_since?.toISOString() ?? null,
  created_at: s.created_at.toISOString(),
  updated_at: s.updated_at.toISOString(),
})
