import type { Principal, TenantId } from '../../kernel/actor.ts'
import { mapMaybePromise } from '../../kernel/maybe-promise.ts'
import type { CredentialVerdict, IncomingRequest, PresentedToken, Verifiers } from './authenticate.ts'

declare const ofOpen: unique symbol
/**
 * Verifiers that refuse principals of suspended, closing and deleted tenants. The pipeline accepts no other verifiers.
 */
export type ActiveTenantVerifiers = Verifiers & { readonly [ofOpen]: true }
type StatusOf = (tenant: TenantId) => string | Promise<string>

export function activeTenantsOnly(verifiers: Verifiers, statusOf: StatusOf): ActiveTenantVerifiers {
  const requireActive = (verdict: CredentialVerdict): CredentialVerdict | Promise<CredentialVerdict> =>
    verdict === undefined || verdict.kind === 'refused'
      ? verdict
      : mapMaybePromise(statusOf(verdict.tenantId), (status) => (status === 'active' ? verdict : refused(verdict)))
  /** Credentials of a deleted tenant are not verified, since its data is being erased. */
  const opaque =
    (verify: (presented: PresentedToken, request: IncomingRequest) => CredentialVerdict | Promise<CredentialVerdict>) =>
    (presented: PresentedToken, request: IncomingRequest) =>
      mapMaybePromise(statusOf(presented.tenant), (status) =>
        status === 'deleted' ? undefined : mapMaybePromise(verify(presented, request), requireActive),
      )
  const plain =
    (verify: (text: string, request: IncomingRequest) => CredentialVerdict | Promise<CredentialVerdict>) =>
    (text: string, request: IncomingRequest) =>
      mapMaybePromise(verify(text, request), requireActive)
  const { service, readToken } = verifiers
  const open: Verifiers = {
    readToken,
    service: { is: service.is, verify: plain(service.verify) },
    session: opaque(verifiers.session),
    api_key: opaque(verifiers.api_key),
    device: plain(verifiers.device),
    gateway: opaque(verifiers.gateway),
    enrollment_token: opaque(verifiers.enrollment_token),
    enrollment_challenge: opaque(verifiers.enrollment_challenge),
  }
  return open as ActiveTenantVerifiers
}

/** Refusals are recorded in the principal's tenant. A refused session is treated as an ended one. */
const refused = ({ kind, tenantId, id, name }: Principal): CredentialVerdict =>
  kind === 'session' ? undefined : { kind: 'refused', of: kind, tenantId, id, name, reason: 'tenant_suspended' }
