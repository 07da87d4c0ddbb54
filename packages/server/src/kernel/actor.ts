import type { CredentialKind, Origin, Permission, RequiredAction, Role } from '@holdfast/contract/vocabulary'
import type { RateLimit } from './rate-limit.ts'

/**
 * Created only by authentication and read from rows. Every query takes it as its first parameter after the transaction.
 */
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
      /** Time when the person signed in. */
      startedAt: Date
      expiresAt: Date
      idleSeconds: number
      /** End for inactivity if there is no further request, as far as this replica knows. */
      idleExpiresAt: Date
      /** Method of the sign-in, as in the audit log. */
      authMethod: string
      /** Identity provider of the sign-in. */
      providerId: string | null
      /** True if the user has a second factor. */
      mfa: boolean
      /** Time of the session's last one-time code. */
      steppedUpAt: Date | null
      /** Action that the user must take before any other. */
      requiredAction: RequiredAction | null
    }
  | {
      kind: 'api_key'
      tenantId: TenantId
      id: string
      /** User whose permissions limit the key; null for a key that the deployment created itself. */
      ownerId: string | null
      /** True if that user is a person, so that the settings of sign-in and sessions apply. */
      standsForPerson: boolean
      /**
       * UUIDs of the people whose limits apply: the owner, the person who created the key, and the creator of that
       * account.
       */
      standsFor: readonly string[]
      name: string
      roles: readonly Role[]
      permissions: ReadonlySet<Permission>
      /** The directory that the key provisions. Such a key can do nothing else. */
      directory: string | null
    }
  | {
      kind: 'device'
      tenantId: TenantId
      id: string
      name: string
      userId: string | null
      /** True if it waits for approval. Each response to it says so. */
      isPending: boolean
      /** Rate limit for the headers of its responses. */
      rateLimit?: RateLimit | undefined
      /** The presented credential, and its generation. */
      presented: { token: string; generation: number }
    }
  | { kind: 'gateway'; tenantId: TenantId; id: string; name: string; poolId: string }
  | {
      kind: 'enrollment_token'
      tenantId: TenantId
      id: string
      name: string
      /** The presented token, and the key proof that came with it. */
      presented: { token: string; proof: unknown }
      terms: EnrollmentTerms
    }
  | {
      /** Allows an attempt to enroll. An identity provider must prove the user. */
      kind: 'enrollment_challenge'
      tenantId: TenantId
      /** Id of this challenge alone. It is not stored. */
      id: string
      name: string
      /** The presented challenge, its key proof, and the method that the proof must name. */
      presented: { token: string; proof: unknown; method: string }
      /** Digest that is stored after it has enrolled a device, and its expiry. */
      digest: Buffer
      expiresAt: Date
    }

/** The caller, as established by exactly one credential of this kind. Ids are UUIDs. */
export type Principal<K extends CredentialKind = CredentialKind> = Extract<AnyPrincipal, { kind: K }>

/** Terms of an enrollment token. They do not change while the token is valid. */
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

/**
 * A credential that was issued here but is no longer valid, or not valid for this request. Its caller gets no reason.
 */
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
  /**
   * For a device: true if the caller proves possession of its key, and so may learn the device's status. It costs a
   * signature check, so it is called last.
   */
  showsKey?: () => boolean
}

/** The caller before authentication. */
export type AnonymousCaller = { sourceIp: string; userAgent: string | null; requestId: string }
/** The same, with the origin of the request: a browser page or not. */
export type Caller = AnonymousCaller & { origin: Extract<Origin, 'api' | 'console'> }

/** Source of a change, with all data for its audit event. */
export type Source = {
  tenantId: TenantId
  /** `address` if only the caller's address is known. */
  type: CredentialKind | 'job' | 'address' | 'identity_provider'
  /** TypeID, or a job's name. */
  id: string | null
  name: string | null
  origin: Origin
  sourceIp: string | null
  userAgent: string | null
  requestId: string | null
  /** Claim of the Idempotency-Key. It is settled in the transaction of the change. */
  claim: IdempotencyClaim | null
}
/** One attempt at a request with an Idempotency-Key. */
export type IdempotencyClaim = { tenantId: TenantId; principal: string; key: string; attempt: string }
/** A principal with the source of its change. */
export type Actor<K extends CredentialKind = CredentialKind> = Source & AnonymousCaller & { principal: Principal<K> }

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

/** Returns UUIDs of the people behind a caller. Limits of each of them apply to the caller. */
export const personsBehind = ({ principal }: Pick<Actor, 'principal'>): readonly string[] => {
  if (principal.kind === 'session') return [principal.userId]
  return principal.kind === 'api_key' ? principal.standsFor : []
}

export const permissionsOf = (actor: Actor): ReadonlySet<Permission> =>
  'permissions' in actor.principal ? actor.principal.permissions : new Set()
