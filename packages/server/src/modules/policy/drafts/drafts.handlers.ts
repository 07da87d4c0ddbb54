import type { MergeConflict } from '@holdfast/policy'
import type { Database } from '../../../db/database.ts'
import { findNames, type Names } from '../../../db/names.ts'
import type { Handlers } from '../../../http/handlers.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { requireSame, versioned } from '../../../kernel/version.ts'
import type { Channel } from '../tenant-policy.ts'
import type { DraftRow, DraftWithText } from './drafts.queries.ts'
import { type Drafts, draftVersion } from './drafts.ts'
import type { MergeDraft } from './merge-draft.ts'

/** Fields that a PUT cannot change. It may send them back unchanged. */
const fixed = ['draft_id', 'tenant_id', 'created_by', 'created_at'] as const

export const draftHandlers = ({ db, drafts, mergeDraft }: { db: Database; drafts: Drafts; mergeDraft: MergeDraft }) => {
  const namesOf = (tenant: TenantId, rows: readonly DraftRow[]) =>
    db.inTenant(tenant, (tx) =>
      findNames(tx, tenant, { makers: rows.flatMap((row) => [row.created_by, row.updated_by]) }),
    )
  const detail = async (tenant: TenantId, row: DraftWithText) => ({
    ...viewDraft(row, await namesOf(tenant, [row])),
    text: row.text,
  })
  /** The tag has the digest of the text instead of the text. */
  const shown = async (tenant: TenantId, row: DraftWithText) => {
    const content = await detail(tenant, row)
    return versioned(draftVersion(row), content, { ...content, text: row.digest })
  }
  return {
    listPolicyDrafts: async ({ actor, query }) => {
      const { items, next_cursor } = await drafts.list(actor, query)
      const names = await namesOf(actor.tenantId, items)
      return { items: items.map((row) => viewDraft(row, names)), next_cursor }
    },
    createPolicyDraft: async ({ actor, body }) => {
      const row = await drafts.create(actor, body)
      return viewDraft(row, await namesOf(actor.tenantId, [row]))
    },
    getPolicyDraft: async ({ actor, params }) =>
      shown(actor.tenantId, await drafts.find(actor.tenantId, idOf('policy_draft', params.draft_id))),
    updatePolicyDraft: async ({ actor, params, body, expected }) => {
      const { name, text, base } = body
      const id = idOf('policy_draft', params.draft_id)
      const row = await drafts.replace(actor, id, { name, text, base }, (before) => {
        expected.require(draftVersion(before))
        requireSame(fixedOf(before), body, fixed)
      })
      return shown(actor.tenantId, row)
    },
    deletePolicyDraft: async ({ actor, params, expected }) => ({
      changed: await drafts.remove(actor, idOf('policy_draft', params.draft_id), expected),
    }),
    mergePolicyDraft: async ({ actor, params, query }) => {
      const id = idOf('policy_draft', params.draft_id)
      const { draft, current, document, changed, conflicts } = await mergeDraft(
        actor.tenantId,
        id,
        query.channel ?? 'stable',
      )
      return {
        base: viewBase(draft),
        current: current ? viewVersion(current) : null,
        text: JSON.stringify(document, null, 2),
        changed,
        conflicts: conflicts.map(viewConflict),
      }
    },
  } satisfies Partial<Handlers>
}

type VersionRow = { bundle_id: string; version: number; channel: Channel; digest: string }
const viewVersion = ({ bundle_id, version, channel, digest }: VersionRow) => ({
  bundle_id: encodeId('policy_bundle', bundle_id),
  version,
  channel,
  digest,
})
const viewBase = (row: DraftRow) => {
  const { base_bundle_id: bundle_id, base_version: version, base_channel: channel, base_digest: digest } = row
  return bundle_id === null || version === null || channel === null || digest === null
    ? null
    : viewVersion({ bundle_id, version, channel, digest })
}

const fixedOf = (row: DraftRow) => ({
  draft_id: encodeId('policy_draft', row.draft_id),
  tenant_id: encodeId('tenant', row.tenant_id),
  created_by: row.created_by,
  created_at: row.created_at.toISOString(),
})
const viewDraft = (row: DraftRow, names: Names) => ({
  ...fixedOf(row),
  name: row.name,
  base: viewBase(row),
  size: row.size,
  created_by_name: names.ofMaker(row.created_by),
  updated_by: row.updated_by,
  updated_by_name: names.ofMaker(row.updated_by),
  updated_at: row.updated_at.toISOString(),
})

const viewConflict = ({ part, name, draft, published, base }: MergeConflict) => ({
  part,
  name,
  draft: draft ?? null,
  published: published ?? null,
  base: base ?? null,
})
