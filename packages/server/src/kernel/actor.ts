import type { CredentialKind, Origin, Permission, RequiredAction, Role } from '@holdfast/contract/vocabulary'
import type { RateLimit } from './rate-limit.ts'

/** Only authentication makes one, and rows have it; every query takes it first. */
export type TenantId = string & { readonly brand: 'TenantId' }

type AnyPrincipal =
  | {
      kind: 'session'
      tenantId: TenantId
      id: string
      userId: string
      name: string
      roles: readonly Role[]
      permissions: ReadonlySet<Permission>
      /** When its person signed in. */
      startedAt: Date
      expiresAt: Date
      idleSeconds: number
      /** When it ends for inactivity if nothing is done until then, as far as this replica knows. */
      idleExpiresAt: Date
      /** How the user signed in, as the audit trail says it. */
      authMethod: string
      /** The identity provider that opened it. */
      providerId: string | null
      /** Whether the user has a second factor. */
      mfa: boolean
      /** When this session last showed a one-time code. */
      steppedUpAt: Date | null
      /** What it must do before anything else. */
      requiredAction: RequiredAction | null
    }
  | {
      kind: 'api_key'
      tenantId: TenantId
      id: string
      /** The user whose rights bound it; null for a key that the deployment made itself. */
      ownerId: string | null
      /** Whether that user is a person, whom the settings of sign-in and sessions bind. */
      standsForPerson: boolean
      /** UUIDs of the people whose limits bind it: its owner, the person who made it, and who made its account. */
      standsFor: readonly string[]
      name: string
      roles: readonly Role[]
      permissions: ReadonlySet<Permission>
      /** The directory that it provisions; it does nothing else. */
      directory: string | null
    }
  | {
      kind: 'device'
      tenantId: TenantId
      id: string
      name: string
      userId: string | null
      /** Waits for approval: it is told so beside each answer. */
      isPending: boolean
      /** What its answers say of how often it may ask. */
      rateLimit?: RateLimit | undefined
      /** The credential as it was shown, and which generation of it that is. */
      presented: { token: string; generation: number }
    }
  | { kind: 'gateway'; tenantId: TenantId; id: string; name: string; poolId: string }
  | {
      kind: 'enrollment_token'
      tenantId: TenantId
      id: string
      name: string
      /** The token as it was shown, and the proof of a key, bound to it, that came with it. */
      presented: { token: string; proof: unknown }
      terms: EnrollmentTerms
    }
  | {
      /** Says only that somebody may try to enroll: who that is, an identity provider has to prove. */
      kind: 'enrollment_challenge'
      tenantId: TenantId
      /** Of this challenge alone; it stands nowhere else. */
      id: string
      name: string
      /** As it was shown, the proof of a key that came with it, and the method that the proof has to name. */
      presented: { token: string; proof: unknown; method: string }
      /** What is remembered of it once it has enrolled a device, and until when. */
      digest: Buffer
      expiresAt: Date
    }

/** Who calls, as established by exactly one credential, of this kind. Ids are UUIDs. */
export type Principal<K extends CredentialKind = CredentialKind> = Extract<AnyPrincipal, { kind: K }>

/** What an enrollment token allows and gives; none of it changes while the token is good. */
type EnrollmentTerms = {
  readonly kind: 'enroll' | 'bootstrap'
  readonly user_id: string | null
  readonly group_ids: string[]
  readonly tags: string[]
  readonly platforms: readonly string[]
  readonly allowed_cidrs: readonly string[]
  readonly requires_approval: boolean
  readonly ephemeral_seconds: number | null
  readonly max_devices_per_user: number | null
}

/** A credential that was issued here and is good no more, or not for this request. Its caller is told nothing of it. */
export type RefusedCredential = {
  kind: 'refused'
  of: 'api_key' | 'device' | 'gateway' | 'enrollment_token' | 'enrollment_challenge'
  tenantId: TenantId
  id: string
  name: string | null
  reason:
    | 'revoked'
    | 'suspended'
    | 'expired'
    | 'superseded'
    | 'wrong_address'
    | 'maker_gone'
    | 'no_proof'
    | 'spent'
    | 'tenant_suspended'
  /** Of a device: who shows its key may hear what has become of it. The look costs a signature, so it is taken last. */
  showsKey?: () => boolean
}

/** Who asks, before a credential says who that is. */
export type Stranger = { sourceIp: string; userAgent: string | null; requestId: string }
/** The same, and whether a page of a browser asked. */
export type Caller = Stranger & { origin: Extract<Origin, 'api' | 'console'> }

/** Where a change comes from: enough to write its audit event. */
export type Source = {
  tenantId: TenantId
  /** `address` where nobody is known yet but where they come from. */
  type: CredentialKind | 'job' | 'address' | 'identity_provider'
  /** TypeID, or a job's name. */
  id: string | null
  name: string | null
  origin: Origin
  sourceIp: string | null
  userAgent: string | null
  requestId: string | null
  /** What an Idempotency-Key stands for; settled with the change, in its transaction. */
  claim: Claim | null
}
/** One attempt at the request that an Idempotency-Key stands for. */
export type Claim = { tenantId: TenantId; principal: string; key: string; attempt: string }
/** A principal and where it calls from: who makes a change, and its source. */
export type Actor<K extends CredentialKind = CredentialKind> = Source & Stranger & { principal: Principal<K> }

export const jobSource = (tenantId: TenantId, job: string): Source => ({
  tenantId,
  type: 'job',
  id: job,
  name: job,
  origin: 'job',
  sourceIp: null,
  userAgent: null,
  requestId: null,
  claim: null,
})

/** The people whom a caller stands for, by UUID: what binds one of them binds the caller. */
export const personsBehind = ({ principal }: Pick<Actor, 'principal'>): readonly string[] => {
  if (principal.kind === 'session') return [principal.userId]
  return principal.kind === 'api_key' ? principal.standsFor : []
}

export const permissionsOf = (actor: Actor): ReadonlySet<Permission> =>
  'permissions' in actor.principal ? actor.principal.permissions : new Set()
