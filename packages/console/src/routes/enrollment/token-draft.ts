import type { InputOf } from '../../api/client.ts'
import type { ComboOption } from '../../ui/combo-box-field.tsx'

type Body = NonNullable<InputOf<'POST /v1/admin/tokens/generate'>['body']>
type Platform = NonNullable<Body['platforms']>[number]

/** Input for a new enrollment token. */
export type TokenDraft = {
  name: string
  /** Number of devices that may use the token; 0 is unlimited, undefined is an invalid number. */
  maxUses: number | undefined
  /** Lifetime in seconds, as the value of the select. */
  lifetime: string
  user: ComboOption | undefined
  groups: readonly ComboOption[]
  tags: string
  platforms: readonly Platform[]
  addresses: string
  requiresApproval: boolean
  isEphemeral: boolean
}

export const freshDraft: TokenDraft = {
  name: '',
  maxUses: 1,
  lifetime: '86400',
  user: undefined,
  groups: [],
  tags: '',
  platforms: [],
  addresses: '',
  requiresApproval: false,
  isEphemeral: false,
}
/** Silence after which an ephemeral device is revoked, in seconds. */
const ephemeralSeconds = 3_600

export const lifetimes = [
  { value: '3600', label: '1 hour', flag: '1h' },
  { value: '86400', label: '24 hours', flag: '24h' },
  { value: '604800', label: '7 days', flag: '7d' },
  { value: '2592000', label: '30 days', flag: '30d' },
  { value: '7776000', label: '90 days', flag: '90d' },
] as const

const listOf = (text: string) => text.split(/[\s,]+/).filter(Boolean)

/** Returns the body of the request, without values that are defaults of the API. */
export function bodyOf(draft: TokenDraft): Body {
  const [tags, addresses] = [listOf(draft.tags), listOf(draft.addresses)]
  return {
    ...(draft.name.trim() !== '' && { name: draft.name.trim() }),
    max_uses: draft.maxUses ?? 1,
    expires_in_seconds: Number(draft.lifetime),
    ...(draft.user && { user_id: draft.user.id }),
    ...(draft.groups.length > 0 && { group_ids: draft.groups.map((group) => group.id) }),
    ...(tags.length > 0 && { tags }),
    ...(draft.platforms.length > 0 && { platforms: [...draft.platforms] }),
    ...(addresses.length > 0 && { allowed_cidrs: addresses }),
    ...(draft.requiresApproval && { requires_approval: true }),
    ...(draft.isEphemeral && { ephemeral_seconds: ephemeralSeconds }),
  }
}

const quoted = (text: string) => (/^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** Returns the `holdfast` command line that creates the same token. */
export function commandOf(draft: TokenDraft): string {
  const body = bodyOf(draft)
  const many = (flag: string, values: readonly string[] | undefined) => (values ? [flag, ...values.map(quoted)] : [])
  return [
    'holdfast token create',
    ...(body.name ? ['--name', quoted(body.name)] : []),
    ...['--max-uses', String(body.max_uses)],
    ...['--expires-in', lifetimes.find((one) => one.value === draft.lifetime)?.flag ?? '24h'],
    ...(draft.user ? ['--user', quoted(draft.user.label)] : []),
    ...many('--group', draft.groups.length > 0 ? draft.groups.map((group) => group.label) : undefined),
    ...many('--tag', body.tags),
    ...many('--platform', body.platforms),
    ...many('--cidr', body.allowed_cidrs),
    ...(body.requires_approval ? ['--requires-approval'] : []),
    ...(body.ephemeral_seconds ? ['--ephemeral', '1h'] : []),
    '--print-install',
  ].join(' ')
}
