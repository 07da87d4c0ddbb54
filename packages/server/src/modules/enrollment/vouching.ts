import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Actor, Source, TenantId } from '../../kernel/actor.ts'
import { AppError, unauthorized } from '../../kernel/app-error.ts'
import { sourceBlock } from '../../kernel/cidr.ts'
import { encodeId } from '../../kernel/ids.ts'
import { createTally } from '../../kernel/tally.ts'
import type { Audit } from '../audit/index.ts'
import type { Newcomer } from '../federation/index.ts'
import type { SourceFailures } from '../identity/index.ts'
import { type Admission, type DeviceInput, type Enrolled, refuseOpenly } from './admission.ts'
import type { ProviderMethod } from './allot.ts'
import type { ProvenKey } from './proven-key.ts'

/** Of which provider, where that is known. */
type Attempt = { method: ProviderMethod; providerId: string | undefined }
type By = Attempt & { providerId: string }
type Refused = (reason: string, userId?: string) => Promise<never>

/**
 * What all enrollments by an identity provider share. Whatever can't be proved is the same 401; why is in the audit
 * event alone. How often that may happen to one address is bounded as for sign-ins, on all replicas together.
 */
export function createVouching({
  audit,
  settings,
  failures,
  admit,
  onError,
}: {
  audit: Audit
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  failures: SourceFailures
  admit: Admission
  /** Hears of counts that could not be put on record. */
  onError: (e: Error) => void
}) {
  const throttled = createTally<Source>({
    keyOf: ({ tenantId, name }) => `${tenantId} ${name}`,
    record: (by, refused) =>
      audit.note(by, 'auth.throttled', { credential: 'id_token', refused }, { outcome: 'refused' }),
    onError,
  })
  const sourceOf = ({ tenantId, sourceIp }: Actor) => `enrollment ${tenantId} ${sourceBlock(sourceIp)}`

  return {
    /** 429 for an address at which too many have failed. */
    requireFew: async (actor: Actor): Promise<void> => {
      const { login } = await settings(actor.tenantId)
      const wait = await failures.secondsToWait(actor.tenantId, sourceOf(actor), login)
      if (wait === 0) return
      await throttled.count(strangerOf(actor))
      throw new AppError('rate_limited', 'too many failed enrollments from this address', { retryAfterSeconds: wait })
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

    /** The key that a request proves. A proof that does not hold is refused like all else that can't be proved. */
    provenKey: async (refuse: Refused, read: () => ProvenKey): Promise<ProvenKey> => {
      try {
        return read()
      } catch (e) {
        if (e instanceof AppError && e.code === 'unauthorized') return refuse('no_proof')
        throw e
      }
    },

    /** Enrolls the device of somebody whom a provider proved. */
    enroll: async (
      actor: Actor<'enrollment_challenge'>,
      of: By,
      { key, newcomer, device }: { key: ProvenKey; newcomer: Newcomer; device: DeviceInput },
      refuse: Refused,
    ): Promise<Enrolled> => {
      const terms = { ...newcomer.terms, tags: [], group_ids: [], ephemeral_seconds: null }
      const by = { ...of, ticket: actor.principal.digest, recognise: newcomer.recognise }
      const enrolled = await admit(actor, by, key, { terms, device })
      if (!('refused' in enrolled)) return enrolled
      refuseOpenly(enrolled.refused, terms)
      return refuse(enrolled.refused, enrolled.userId)
    },

    /** Writes what was counted lately; at stop. */
    flush: throttled.flush,
  }
}
export type Vouching = ReturnType<typeof createVouching>

/** What is counted for a minute holds nothing that was presented. */
const strangerOf = ({ tenantId, sourceIp, userAgent, requestId, origin }: Actor): Source => ({
  ...{ tenantId, sourceIp, userAgent, requestId, origin },
  ...{ type: 'address', id: null, name: sourceIp, claim: null },
})
