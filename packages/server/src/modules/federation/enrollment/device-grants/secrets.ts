import { type Kek, seal, unseal } from '@holdfast/crypto'
import type { ProvenIdentity } from '../../protocols/proven-identity.ts'
import type { ProviderRow } from '../../providers/providers.queries.ts'
import type { GrantRow } from './grants.queries.ts'

/** The device code and the client that can redeem it. A provider whose issuer or client changed since is not asked. */
type Redeemed = { device_code: string; issuer: string; client_id: string }

const contextOf = ({ ticket, provider_id }: Pick<GrantRow, 'ticket' | 'provider_id'>, what: 'code' | 'person') =>
  `device_grants/${ticket.toString('base64url')}/${provider_id}/${what}`

/** Sealed content of `secret_jwe`: the device code until it is redeemed, then the person who approved. */
export function createGrantSecrets(kek: Kek) {
  const sealed = (context: string, value: unknown) => seal(kek, context, Buffer.from(JSON.stringify(value)))
  const opened = async (context: string, jwe: string | null): Promise<unknown> =>
    JSON.parse((await unseal(kek, context, jwe ?? '')).toString())
  type Of = Pick<GrantRow, 'ticket' | 'provider_id'>
  return {
    sealCode: (of: Of, code: Redeemed) => sealed(contextOf(of, 'code'), code),
    openCode: async (row: GrantRow) => (await opened(contextOf(row, 'code'), row.secret_jwe)) as Redeemed,
    sealPerson: (of: Of, proven: ProvenIdentity) => sealed(contextOf(of, 'person'), proven),
    openPerson: async (row: GrantRow) => (await opened(contextOf(row, 'person'), row.secret_jwe)) as ProvenIdentity,
  }
}
export type GrantSecrets = ReturnType<typeof createGrantSecrets>

export const isOf = ({ issuer, client_id }: Redeemed, { oidc }: ProviderRow): boolean =>
  oidc?.issuer === issuer && oidc.client_id === client_id
