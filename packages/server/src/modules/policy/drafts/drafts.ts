import { createHash } from 'node:crypto'
import { draftLimits } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../../db/database.ts'
import type { PageQuery, Pager } from '../../../db/page.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { failField, failMaximum } from '../../../kernel/app-error.ts'
import { differences } from '../../../kernel/differences.ts'
import { decodeId, encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import { type ExpectedVersion, requireSame } from '../../../kernel/version.ts'
import type { Audit } from '../../audit/index.ts'
import type { DraftRow, DraftWithText, StoredDraft } from './drafts.queries.ts'
import * as queries from './drafts.queries.ts'

/** The base as a caller names it: its id decides, further fields must be those of the version. */
type NamedBase = { bundle_id: string; version?: number; channel?: string; digest?: string }
type Measured = Omit<StoredDraft, 'baseVersion'>
type DraftInput = { name: string; text: string; base?: NamedBase | null }

/** Drafts of policies: texts that all administrators of a tenant may change. */
export function createDrafts({ db, audit, pager, now }: { db: Database; audit: Audit; pager: Pager; now: () => Date }) {
  const saveOf = (actor: Actor) => ({ by: actor.id, at: now() })

  /** Checked under the lock of new drafts. */
  async function requireRoom(tx: Tx, tenant: TenantId, author: string | null): Promise<void> {
    const { own, all } = await queries.countDrafts(tx, tenant, author)
    if (own >= draftLimits.own) failMaximum(`you have ${draftLimits.own} drafts`, 'delete a draft first')
    if (all >= draftLimits.tenant) failMaximum(`the tenant has ${draftLimits.tenant} drafts`, 'delete a draft first')
  }

  /** Adds the version from which the draft starts. It stays locked until commit. */
  async function withBase(tx: Tx, tenant: TenantId, measured: Measured, base: NamedBase | null | undefined) {
    if (!base) return { ...measured, baseVersion: null, base_bundle_id: null }
    const id = decodeId('policy_bundle', base.bundle_id)
    const bundle = (id === undefined ? undefined : await queries.holdBase(tx, tenant, id)) ?? noSuchBase()
    requireSame(bundle, base, ['version', 'channel', 'digest'], 'base.')
    return { ...measured, baseVersion: bundle.version, base_bundle_id: bundle.bundle_id }
  }

  return {
    list: (actor: Actor, query: PageQuery & { created_by?: 'me' }) =>
      db.inTenant(actor.tenantId, (tx) =>
        pager.list(queries.selectDrafts(tx, actor.tenantId, query.created_by === 'me' ? actor.id : undefined), {
          operation: query.created_by === 'me' ? `listPolicyDrafts|${actor.id}` : 'listPolicyDrafts',
          tenant: actor.tenantId,
          query,
          orders: { updated_at: { column: 'updated_at', kind: 'time' } },
          tie: 'draft_id',
        }),
      ),

    find: async (tenant: TenantId, id: string): Promise<DraftWithText> =>
      (await db.inTenant(tenant, (tx) => queries.findDraft(tx, tenant, id))) ?? missing('policy_draft'),

    create: async (actor: Actor, { base, ...input }: DraftInput): Promise<DraftRow> => {
      const { tenantId: tenant } = actor
      const measured = measure(input)
      return db.inTenant(tenant, async (tx) => {
        await queries.lockNewDrafts(tx, tenant)
        await requireRoom(tx, tenant, actor.id)
        const draft = await withBase(tx, tenant, measured, base)
        const id = newUuid()
        await queries.insertDraft(tx, tenant, id, draft, saveOf(actor))
        await audit.record(tx, actor, 'policy.draft_created', eventOf(id, draft), { target: targetOf(id, draft) })
        return (await queries.findDraft(tx, tenant, id)) ?? missing('policy_draft')
      })
    },

    /**
     * `allow` may refuse the change after it sees the stored draft, under the lock. A change without effect is not
     * recorded.
     */
    replace: async (
      actor: Actor,
      id: string,
      { base, ...input }: DraftInput,
      allow: (before: DraftRow) => void,
    ): Promise<DraftWithText> => {
      const { tenantId: tenant } = actor
      const measured = measure(input)
      return db.inTenant(tenant, async (tx) => {
        const before = (await queries.lockDraft(tx, tenant, id)) ?? missing('policy_draft')
        allow(before)
        const draft = await withBase(tx, tenant, measured, base)
        const changes = differences(shownOf(before), shownOf(draft))
        if (Object.keys(changes).length === 0) return before
        await queries.saveDraft(tx, tenant, id, draft, saveOf(actor))
        const more = { target: targetOf(id, draft), changes }
        await audit.record(tx, actor, 'policy.draft_updated', eventOf(id, draft), more)
        return (await queries.findDraft(tx, tenant, id)) ?? missing('policy_draft')
      })
    },

    remove: (actor: Actor, id: string, expected: ExpectedVersion): Promise<boolean> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const { tenantId: tenant } = actor
        const before = await queries.lockDraft(tx, tenant, id)
        if (!before) {
          if (!(await queries.wasDraftDeleted(tx, tenant, id))) return missing('policy_draft')
          expected.require(undefined)
          return false
        }
        expected.require(draftVersion(before))
        await queries.removeDraft(tx, tenant, id, saveOf(actor))
        await audit.record(tx, actor, 'policy.draft_deleted', eventOf(id, before), { target: targetOf(id, before) })
        return true
      }),
  }
}
export type Drafts = ReturnType<typeof createDrafts>

const noSuchBase = () => failField('base.bundle_id', 'no such policy version')

/** Measures a text by its bytes in UTF-8, and refuses one that is too long. */
function measure({ name, text }: { name: string; text: string }): Measured {
  const size = Buffer.byteLength(text)
  if (size > draftLimits.bytes)
    failField(
      'text',
      `has ${size.toLocaleString('en')} bytes, and at most ${draftLimits.bytes.toLocaleString('en')} are allowed: use groups, tags and resources to make the document shorter`,
    )
  return { name, text, size, digest: `sha256:${createHash('sha256').update(text).digest('hex')}` }
}

const eventOf = (id: string, { size, digest }: { size: number; digest: string }) => ({
  draft_id: encodeId('policy_draft', id),
  size,
  digest,
})
const targetOf = (id: string, { name }: { name: string }) => ({
  type: 'policy_draft',
  id: encodeId('policy_draft', id),
  name,
})
/** The fields of a draft whose changes its audit event shows. */
const shownOf = ({ name, digest, base_bundle_id }: Pick<DraftRow, 'name' | 'digest' | 'base_bundle_id'>) => ({
  name,
  digest,
  base: base_bundle_id && encodeId('policy_bundle', base_bundle_id),
})
/** The fields of a draft that its version (ETag) depends on. */
export const draftVersion = (draft: DraftRow) => ({ draft_id: draft.draft_id, ...shownOf(draft) })
