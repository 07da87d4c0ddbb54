import type { DirectorySourceKind } from '@holdfast/contract/vocabulary'
import { type Kek, seal, unseal } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { PageQuery, Pager } from '../../../db/page.ts'
import { mapUniqueViolation } from '../../../db/unique-violation.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { failField, failMaximum } from '../../../kernel/app-error.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { Outbound } from '../../../outbound/outbound.ts'
import type { Audit } from '../../audit/index.ts'
import { findDirectory, insertDirectory } from '../runs.queries.ts'
import { requireSource } from '../source.ts'
import { createAsking } from './asking.ts'
import type { Begin } from './begin.ts'
import { clientKeyOf } from './okta.ts'
import { PullError } from './pull-error.ts'
import { firstRun } from './schedule.ts'
import type { SourceFields, SourceRow } from './sources.queries.ts'
import * as queries from './sources.queries.ts'
import { vendors } from './vendors.ts'

/** Undefined: unchanged, or none for a new source. Null: none. */
type GivenCredential = string | null | undefined
type NewSource = Partial<SourceFields> &
  Pick<SourceFields, 'issuer' | 'client_id'> & { kind: DirectorySourceKind; provider: string }
type Look = Awaited<ReturnType<(typeof vendors)[DirectorySourceKind]['look']>>

const defaults = {
  enabled: false,
  interval_minutes: 60,
  take_users: 'all',
  take_groups: 'all',
  group_names: [],
} as const
/** Maximum number of sources of a tenant. Each is read at its own interval. */
const mostSources = 50
/** Time limit of a test, in ms. A person waits for it. */
const testMs = 20_000

const noSource = () => missing('directory_source')
const targetOf = ({ source_id, provider }: Pick<SourceRow, 'source_id' | 'provider'>) => ({
  type: 'directory_source',
  id: encodeId('directory_source', source_id),
  name: provider,
})
const sealContext = (sourceId: string) => `directory_sources/${sourceId}/credential_jwe`

type SourceDeps = {
  db: Database
  audit: Audit
  pager: Pager
  now: () => Date
  kek: Kek
  outbound: Pick<Outbound, 'request' | 'refusalOf'>
  begin: Pick<Begin, 'callOffOf'>
}

/** Configured directory sources: address, client, credential, interval, and the parts to import. */
export function createSources({ db, audit, pager, now, kek, outbound, begin }: SourceDeps) {
  function check(kind: DirectorySourceKind, fields: SourceFields, credential: GivenCredential): void {
    const problem = vendors[kind].problemOf(fields.issuer) ?? outbound.refusalOf(fields.issuer)
    if (problem) failField('issuer', problem)
    if (kind === 'okta' && credential && !clientKeyOf(credential))
      failField('credential', 'must be a private key (RSA or P-256), as JWK or PEM')
    if (fields.take_groups === 'listed' && fields.group_names.length === 0)
      failField('groups.names', 'must name the groups to import')
    if (fields.take_users === 'in_groups' && fields.take_groups === 'none')
      failField('users', 'cannot be in_groups if no groups are imported')
  }
  const sealed = (id: string, credential: string) => seal(kek, sealContext(id), Buffer.from(credential))
  const requireCredential = ({ enabled }: SourceFields, isSet: boolean) =>
    enabled && !isSet ? failField('credential', 'is required before the source can be enabled') : undefined

  async function openCredential({ source_id, credential_jwe: jwe }: SourceRow): Promise<string> {
    if (jwe === null) throw new PullError('credential', 'The source has no credential.')
    return (await unseal(kek, sealContext(source_id), jwe)).toString()
  }

  async function look(source: SourceRow): Promise<Look | PullError> {
    const { kind, issuer, client_id: clientId } = source
    const vendor = vendors[kind]
    const signal = AbortSignal.timeout(testMs)
    try {
      const place = { issuer, clientId, credential: await openCredential(source) }
      const token = () => vendor.tokenOf(place)
      const timeouts = { timeoutMs: testMs, waits: [] }
      return await vendor.look(
        createAsking({ outbound, origin: vendor.originOf(issuer), token, signal, timeouts }),
        place,
      )
    } catch (e) {
      if (e instanceof PullError) return e
      if (signal.aborted) return new PullError('unreachable', 'The directory did not answer in time.')
      throw e
    }
  }

  return {
    openCredential,

    list: (tenant: TenantId, query: PageQuery) =>
      db.inTenant(tenant, (tx) =>
        pager.list(queries.selectSources(tx, tenant), {
          operation: 'listDirectorySources',
          tenant,
          query,
          orders: { created_at: { column: 'created_at', kind: 'time' } },
          tie: 'source_id',
        }),
      ),

    get: async (tenant: TenantId, id: string): Promise<SourceRow> =>
      (await db.inTenant(tenant, (tx) => queries.findSource(tx, tenant, id))) ?? noSource(),

    create: async (actor: Actor, given: NewSource, credential: GivenCredential): Promise<SourceRow> => {
      const { kind, provider, ...rest } = given
      const fields: SourceFields = { ...defaults, group_names: [], ...rest }
      check(kind, fields, credential)
      requireCredential(fields, Boolean(credential))
      const tenant = actor.tenantId
      const source_id = newUuid()
      const credential_jwe = credential ? await sealed(source_id, credential) : null
      const work = () =>
        db.inTenant(tenant, async (tx) => {
          await queries.lockNewSources(tx, tenant)
          if ((await queries.countSources(tx, tenant)) >= mostSources)
            failMaximum(`the tenant has ${mostSources} directory sources`, 'delete a source first')
          const at = now()
          const new_id = { tenant_id: tenant, directory_id: newUuid() }
          await insertDirectory(tx, { ...new_id, provider, created_at: at, source: 'snapshot' })
          const directory = (await findDirectory(tx, tenant, provider)) ?? noSource()
          requireSource(directory, 'snapshot')
          const { directory_id } = directory
          const next_run_at = firstRun(fields, at)
          await queries.insertSource(tx, tenant, fields, {
            source_id,
            directory_id,
            kind,
            credential_jwe,
            next_run_at,
            at,
          })
          const made = (await queries.findSource(tx, tenant, source_id)) ?? noSource()
          const target = targetOf(made)
          await audit.record(tx, actor, 'directory_source.created', { source_id: target.id }, { target })
          return made
        })
      return mapUniqueViolation('provider', 'directory_has_one_source', work, 'already has a source')
    },

    /**
     * `allow` may refuse, based on the current row and under its lock. A replacement without changes records nothing.
     */
    replace: async (
      actor: Actor,
      id: string,
      { fields, credential }: { fields: SourceFields; credential: GivenCredential },
      allow: (before: SourceRow) => void,
    ): Promise<SourceRow> => {
      const tenant = actor.tenantId
      const known = (await db.inTenant(tenant, (tx) => queries.findSource(tx, tenant, id))) ?? noSource()
      check(known.kind, fields, credential)
      const newJwe = credential ? await sealed(id, credential) : null
      return db.inTenant(tenant, async (tx) => {
        const before = (await queries.lockSource(tx, tenant, id)) ?? noSource()
        allow(before)
        // An administrator who may change a source may not see its credential, which would be sent to the new issuer.
        if (credential === undefined && before.credential_jwe !== null && fields.issuer !== before.issuer)
          failField(
            'credential',
            'must be given again, because the issuer changes and the credential is sent to the new issuer',
          )
        const credential_jwe = credential === undefined ? before.credential_jwe : newJwe
        requireCredential(fields, credential_jwe !== null)
        const changed = differences(factsOf(before), factsOf(fields))
        const isNewCredential = credential_jwe !== before.credential_jwe
        if (Object.keys(changed).length === 0 && !isNewCredential) return before
        const at = now()
        const isScheduledAnew = 'enabled' in changed || 'interval_minutes' in changed
        const next_run_at = isScheduledAnew ? firstRun(fields, at) : before.next_run_at
        // A reading uses the settings from its start.
        const isSameReading = Object.keys(changed).every((name) => name === 'interval_minutes' || name === 'enabled')
        const isOver = !isSameReading || (before.enabled && !fields.enabled)
        const kept = isOver ? null : before.kept
        await queries.updateSource(tx, tenant, id, fields, { credential_jwe, next_run_at, kept, at })
        if (isOver) {
          await begin.callOffOf(tx, actor, before, 'The settings of the directory source were changed.')
          await queries.forgetPages(tx, tenant, id)
        }
        const after = (await queries.findSource(tx, tenant, id)) ?? noSource()
        const target = targetOf(after)
        const details = isNewCredential && {
          details: { credential: credential_jwe === null ? 'removed' : 'replaced' },
        }
        await audit.record(
          tx,
          actor,
          'directory_source.updated',
          { source_id: target.id },
          { target, changes: changed, ...details },
        )
        return after
      })
    },

    /** False if it was deleted before. Users and groups stay. */
    remove: (actor: Actor, id: string, expected: ExpectedVersion): Promise<boolean> => {
      const tenant = actor.tenantId
      return db.inTenant(tenant, async (tx) => {
        const before = await queries.lockSource(tx, tenant, id)
        if (!before) {
          if (!(await queries.wasSourceDeleted(tx, tenant, id))) return noSource()
          expected.require(undefined)
          return false
        }
        expected.require(sourceVersion(before))
        await queries.markSourceDeleted(tx, tenant, id, now())
        await begin.callOffOf(tx, actor, before, 'The directory source was deleted.')
        await queries.forgetPages(tx, tenant, id)
        const target = targetOf(before)
        await audit.record(tx, actor, 'directory_source.deleted', { source_id: target.id }, { target })
        return true
      })
    },

    /** Returns a sample of the directory, or the reason why it cannot be read. */
    test: async (actor: Actor, id: string): Promise<Look | PullError> => {
      const tenant = actor.tenantId
      const source = (await db.inTenant(tenant, (tx) => queries.findSource(tx, tenant, id))) ?? noSource()
      const found = await look(source)
      const target = targetOf(source)
      const isProblem = found instanceof PullError
      const more = { target, ...(isProblem && { details: { reason: found.message } }) }
      await db.inTenant(tenant, (tx) =>
        audit.record(tx, actor, 'directory_source.tested', { source_id: target.id, ok: !isProblem }, more),
      )
      return found
    },
  }
}
export type Sources = ReturnType<typeof createSources>

/** Version of a source: its configured fields, without the state of its pulls. */
export const sourceVersion = ({ next_run_at: _, failures: __, failing_since: ___, kept: ____, ...set }: SourceRow) =>
  set

/** Field names as in the API. */
const factsOf = (s: SourceFields) => ({
  enabled: s.enabled,
  issuer: s.issuer,
  client_id: s.client_id,
  interval_minutes: s.interval_minutes,
  users: s.take_users,
  groups: { take: s.take_groups, names: s.group_names },
})
