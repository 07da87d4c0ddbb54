import { randomBytes } from 'node:crypto'
import { digestSecret, digestsOfSecret, type Kek, matchTotp, type Peppers, seal, unseal } from '@holdfast/crypto'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import * as queries from './second-factor.queries.ts'

/** Codes given with the password; empty texts if none was given. */
export type GivenFactor = { totp: string; recoveryCode: string }
/** A matching code. It is accepted only after it was marked as used. */
export type Proof =
  | { method: 'totp'; factor: string; step: number }
  | { method: 'recovery_code'; factor: string; digests: readonly Buffer[] }

const recoveryCodes = 10

/** Removes spaces and dashes between the groups of a code. */
const withoutGroups = (code: string): string => code.replaceAll(/[\s\u2010-\u2015\u2212-]/g, '')

/** Second factor of users: a TOTP seed (RFC 6238), stored sealed, and recovery codes of 128 bits. */
export function createSecondFactor({ kek, peppers, now }: { kek: Kek; peppers: Peppers; now: () => Date }) {
  const contextOf = (user: string) => `user_totp/${user}/seed`

  const matchCode = async (
    user: string,
    { jwe, factor }: queries.SealedSeed,
    code: string,
  ): Promise<Proof | undefined> => {
    const step = matchTotp(await unseal(kek, contextOf(user), jwe), withoutGroups(code), now())
    return step === undefined ? undefined : { method: 'totp', factor, step }
  }
  const secretOf = (tenant: TenantId, user: string, code: string) => `recovery_code ${tenant} ${user} ${code}`

  return {
    sealSeed: (user: string, seed: Uint8Array): Promise<string> => seal(kek, contextOf(user), seed),
    matchCode,

    /** Undefined if no code matches. For a recovery code, `use` checks whether it exists. */
    match: async (
      tenant: TenantId,
      user: string,
      seed: queries.SealedSeed,
      { totp, recoveryCode }: GivenFactor,
    ): Promise<Proof | undefined> => {
      if (totp !== '') return matchCode(user, seed, totp)
      const code = withoutGroups(recoveryCode).toLowerCase()
      if (!/^[0-9a-f]{32}$/.test(code)) return undefined
      return {
        method: 'recovery_code',
        factor: seed.factor,
        digests: digestsOfSecret(peppers, secretOf(tenant, user, code)),
      }
    },

    /** False if the code was used before, on any replica, or the second factor has been replaced. */
    use: async (tx: Tx, tenant: TenantId, user: string, proof: Proof): Promise<boolean> => {
      if (proof.method === 'totp') return queries.useStep(tx, tenant, user, proof.factor, proof.step)
      if ((await queries.findSeed(tx, tenant, user))?.factor !== proof.factor) return false
      return queries.useRecoveryCode(tx, tenant, user, proof.digests, now())
    },

    /** Creates new recovery codes, in the transaction that creates the factor. Only their digests are stored. */
    issueRecoveryCodes: async (tx: Tx, tenant: TenantId, user: string): Promise<string[]> => {
      const codes = Array.from({ length: recoveryCodes }, () => randomBytes(16).toString('hex'))
      await queries.insertRecoveryCodes(
        tx,
        tenant,
        user,
        codes.map((code) => digestSecret(peppers, secretOf(tenant, user, code))),
      )
      return codes.map((code) => code.replaceAll(/.{4}(?=.)/g, '$&-'))
    },
  }
}
export type SecondFactor = ReturnType<typeof createSecondFactor>
