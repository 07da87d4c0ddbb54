import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Actor, Source, TenantId } from '../../kernel/actor.ts'
import { AppError, tooMany, unauthorized } from '../../kernel/app-error.ts'
import { sourceBlock } from '../../kernel/cidr.ts'
import { encodeId } from '../../kernel/ids.ts'
import { createRepeatCounter } from '../../kernel/repeat-counter.ts'
import type { Audit } from '../audit/index.ts'
import type { Enroller, Federation, ProvisioningCandidate } from '../federation/index.ts'
import type { SourceFailures } from '../identity/index.ts'
import { type DeviceInput, type Enrolled, type EnrollmentAdmission, refuseOpenly } from './admission.ts'
import type { ProviderMethod } from './allocate.ts'
import { requireAllowedAddress } from './enroll.ts'
import type { ProvenKey } from './proven-key.ts'

/** `providerId` is undefined while the provider is unknown. */
type Attempt = { method: ProviderMethod; providerId: string | undefined }
type By = Attempt & { providerId: string }
type Refused = (reason: string, userId?: string) => Promise<never>

/**
 * Shared part of all enrollments by an identity provider. Every failed proof is the same 401; only the audit event has
 * the reason. Failures per address are limited as for sign-ins, across all replicas.
 */
export function createProviderEnrollment({
  audit,
  settings,
  failures,
  admit,
  onError,
}: {
  audit: Audit
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  failures: SourceFailures
  admit: EnrollmentAdmission
  /** Called when counts could not be recorded. */
  onError: (e: Error) => void
}) {
  const throttled = createRepeatCounter<Source>({
    keyOf: ({ tenantId, name }) => `${tenantId} ${name}`,
    record: (by, refused) =>
      audit.note(by, 'auth.throttled', { credential: 'id_token', refused }, { outcome: 'refused' }),
    onError,
  })
  const sourceOf = ({ tenantId, sourceIp }: Actor) => `enrollment ${tenantId} ${sourceBlock(sourceIp)}`

  return {
    /** Throws 429 for an address with too many failures. */
    requireFew: async (actor: Actor): Promise<void> => {
      const { login } = await settings(actor.tenantId)
      const wait = await failures.secondsToWait(actor.tenantId, sourceOf(actor), login)
      if (wait === 0) return
      await throttled.count(strangerOf(actor))
      throw tooMany('failed enrollments from this address', wait)
    },

    refusing:
      (actor: Actor, { method, providerId }: Attempt): Refused =>
      async (reason, userId) => {
        const { login } = await settings(actor.tenantId)
        await failures.count(actor.tenantId, sourceOf(actor), login)
        const provider = providerId && { provider_id: encodeId('identity_provider', providerId) }
        const fields = { method, ...provider, reason }
        const target = userId && { target: { type: 'user', id: encodeId('user', userId), name: null } }
        await audit.note(actor, 'device.enrollment_refused', fields, { outcome: 'refused', ...target })
        return unauthorized()
      },

    /** Reads the key that a request proves. An invalid proof is refused like any other failed proof. */
    provenKey: async (refuse: Refused, read: () => ProvenKey): Promise<ProvenKey> => {
      try {
        return read()
      } catch (e) {
        if (e instanceof AppError && e.code === 'unauthorized') return refuse('no_proof')
        throw e
      }
    },

    /** Enrolls the device of a person whom a provider has authenticated. */
    enroll: async (
      actor: Actor<'enrollment_challenge'>,
      of: By,
      { key, candidate, device }: { key: ProvenKey; candidate: ProvisioningCandidate; device: DeviceInput },
      refuse: Refused,
    ): Promise<Enrolled> => {
      const terms = { ...candidate.terms, tags: [], group_ids: [], ephemeral_seconds: null }
      const by = { ...of, ticket: actor.principal.digest, resolveAccount: candidate.resolveAccount }
      const enrolled = await admit(actor, by, key, { terms, device })
      if (!('refused' in enrolled)) return enrolled
      refuseOpenly(enrolled.refused, terms)
      return refuse(enrolled.refused, enrolled.userId)
    },

    /** Writes recent counts. Called at shutdown. */
    flush: throttled.flush,
  }
}
export type ProviderEnrollment = ReturnType<typeof createProviderEnrollment>

/** Counts are kept for a minute and contain nothing that was presented. */
const strangerOf = ({ tenantId, sourceIp, userAgent, requestId, origin }: Actor): Source => ({
  tenantId,
  sourceIp,
  userAgent,
  requestId,
  origin,
  type: 'address',
  id: null,
  name: sourceIp,
  claim: null,
})

/** Lists the identity providers that enroll devices, for callers who may start an enrollment. */
export const createListEnrollers =
  ({ federation }: { federation: Pick<Federation, 'enrollers'> }) =>
  (actor: Actor): Promise<readonly Enroller[]> => {
    if (isOfToken(actor)) requireAllowedAddress(actor)
    return federation.enrollers(actor.tenantId)
  }
export type ListEnrollers = ReturnType<typeof createListEnrollers>

const isOfToken = (actor: Actor): actor is Actor<'enrollment_token'> => actor.principal.kind === 'enrollment_token'
