import { mergePolicies, readDocumentText } from '@holdfast/policy'
import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { bundleByVersion, canaryUnderWay, inForce } from '../policy.queries.ts'
import type { Channel } from '../tenant-policy.ts'
import type { Drafts } from './drafts.ts'

type Fields = Readonly<Record<string, unknown>>

/** Merges a draft with the version that a channel delivers. Nothing is stored. */
export const createMergeDraft =
  ({ db, drafts }: { db: Database; drafts: Drafts }) =>
  async (tenant: TenantId, id: string, channel: Channel) => {
    const draft = await drafts.find(tenant, id)
    const read = readDocumentText(draft.text)
    if ('fault' in read) {
      const { line, column, message } = read.fault
      failField('text', `line ${line}, column ${column}: ${message}`)
    }
    const { base, current } = await db.inTenant(tenant, async (tx) => {
      const versions = await inForce(tx, tenant)
      const stable = versions.get('stable')
      const delivered = channel === 'canary' ? (canaryUnderWay(versions) ?? stable) : stable
      return {
        base: draft.base_version === null ? undefined : await bundleByVersion(tx, tenant, draft.base_version),
        current: delivered && (await bundleByVersion(tx, tenant, delivered.version)),
      }
    })
    const baseDocument = (base?.document ?? {}) as Fields
    const merged = mergePolicies({
      base: baseDocument,
      draft: read.document,
      // Without a published version the draft stays as it is.
      published: current ? (current.document as Fields) : baseDocument,
    })
    return { draft, current, ...merged }
  }
export type MergeDraft = ReturnType<typeof createMergeDraft>
