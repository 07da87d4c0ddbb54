import { Type } from 'typebox'
import { Channel } from './devices.ts'
import { endpoint } from './endpoint.ts'
import { Digest } from './policy.ts'
import {
  Bytes,
  Closed,
  Count,
  Id,
  List,
  ListQuery,
  Name,
  NameOf,
  Nullable,
  OneOf,
  Shown,
  Time,
  WasChanged,
} from './schema.ts'
import { draftLimits, mergeParts } from './vocabulary.ts'

/**
 * A text of the full 1 MiB in JSON: quotes and line breaks are escaped, and some clients escape each letter that is not
 * ASCII.
 */
const draftBody = { bodyLimit: 4 * 1024 * 1024, textLimit: 4 * 1024 * 1024 } as const

/** The version that a draft began with, or that a merge compares it with. */
const Version = Closed(
  { bundle_id: Id('policy_bundle'), version: Count, channel: Channel, digest: Digest },
  { title: 'PolicyDraftVersion' },
)
const Base = Nullable(Version)
const { bundle_id, ...ofVersion } = Shown(Version)
/** The base in a request: only the id counts. A PUT may send the other fields back. */
const NamedBase = Nullable(
  Closed(
    { bundle_id: Version.properties.bundle_id, ...ofVersion },
    { description: 'Published version from which the draft started. Null: none' },
  ),
)
const DraftText = Type.String({
  maxLength: draftLimits.bytes,
  description: `Text of the document as typed. It may be invalid. At most ${draftLimits.bytes.toLocaleString('en')} bytes`,
})

export const PolicyDraft = Closed(
  {
    draft_id: Id('policy_draft'),
    tenant_id: Id('tenant'),
    name: Name,
    base: Base,
    size: Bytes,
    created_by: Nullable(Type.String()),
    created_by_name: NameOf('user or API key'),
    created_at: Time,
    updated_by: Nullable(Type.String()),
    updated_by_name: NameOf('user or API key'),
    updated_at: Time,
  },
  { title: 'PolicyDraft' },
)
const PolicyDraftDetail = Closed({ ...PolicyDraft.properties, text: DraftText }, { title: 'PolicyDraftDetail' })

const reads = { by: ['session', 'api_key'], permission: 'policy:read' } as const
const writes = { by: ['session', 'api_key'], permission: 'policy:write' } as const
const params = Closed({ draft_id: Id('policy_draft') })

export const listPolicyDrafts = endpoint({
  method: 'GET',
  path: '/v1/admin/policy-drafts',
  summary: 'List policy drafts',
  description: 'The list does not have the texts.',
  access: reads,
  query: ListQuery(
    { created_by: Type.Optional(OneOf(['me'], { description: '`me`: only drafts that the caller created' })) },
    ['updated_at'] as const,
    '-updated_at',
  ),
  response: List(PolicyDraft),
})

export const createPolicyDraft = endpoint({
  method: 'POST',
  path: '/v1/admin/policy-drafts',
  summary: 'Create a policy draft',
  description: `A draft keeps the text of a policy document on the server. All callers with the permission may change it. A caller has at most ${draftLimits.own} drafts, a tenant ${draftLimits.tenant}.`,
  access: writes,
  audit: 'policy.draft_created',
  ...draftBody,
  status: 201,
  body: Closed({ name: Name, text: DraftText, base: Type.Optional(NamedBase) }),
  response: PolicyDraft,
})

export const getPolicyDraft = endpoint({
  method: 'GET',
  path: '/v1/admin/policy-drafts/{draft_id}',
  summary: 'Get a policy draft',
  access: reads,
  params,
  response: PolicyDraftDetail,
  etag: true,
})

export const updatePolicyDraft = endpoint({
  method: 'PUT',
  path: '/v1/admin/policy-drafts/{draft_id}',
  summary: 'Replace a policy draft',
  description:
    '`If-Match` is required, so that no save overwrites the save of another person by accident. `*` replaces any version.',
  access: writes,
  audit: 'policy.draft_updated',
  ...draftBody,
  params,
  body: Closed({ ...Shown(PolicyDraft), name: Name, text: DraftText, base: NamedBase }),
  response: PolicyDraftDetail,
  ifMatch: 'required',
})

export const deletePolicyDraft = endpoint({
  method: 'DELETE',
  path: '/v1/admin/policy-drafts/{draft_id}',
  summary: 'Delete a policy draft',
  access: writes,
  audit: 'policy.draft_deleted',
  params,
  response: Closed({ changed: WasChanged }),
  ifMatch: true,
})

const Side = (whose: string) => Type.Unknown({ description: `Value ${whose}; null: absent` })
const Conflict = Closed(
  {
    part: OneOf(mergeParts, { description: 'Part of the document. `document`: another field of the document' }),
    name: Nullable(
      Type.String({ description: 'Id of the rule, or name of the entry or field; null: the part as a whole' }),
    ),
    draft: Side('of the draft, which `text` has'),
    published: Side('of the current version'),
    base: Side('of the base'),
  },
  { description: 'A place that the draft and the current version changed in different ways' },
)

export const mergePolicyDraft = endpoint({
  method: 'GET',
  path: '/v1/admin/policy-drafts/{draft_id}/merge',
  costly: true,
  summary: 'Merge a policy draft with the current version',
  description:
    'The answer has the changes of the draft and those of the current version since the base. Nothing is stored. Rules are compared by id, other entries by name.',
  access: reads,
  params,
  query: Closed({
    channel: Type.Optional(
      OneOf(['canary', 'stable'], {
        description:
          'Channel whose current version is merged. Default: `stable`. `canary` without an active canary means stable',
      }),
    ),
  }),
  errors: ['validation_error'],
  response: Closed({
    base: Base,
    current: Nullable(Version),
    text: Type.String({ description: 'The merged document as JSON. At a conflict it has the value of the draft' }),
    changed: Type.Boolean({ description: 'True: the merged document differs from that of the draft' }),
    conflicts: Type.Array(Conflict),
  }),
})
