import { randomBytes } from 'node:crypto'
import { digestSecret, digestsOfSecret, type Kek, matchTotp, type Peppers, seal, unseal } from '@holdfast/crypto'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import * as queries from './second-factor.queries.ts'

/** What was shown beside the password; empty when it was not. */
export type GivenFactor = { totp: string; recoveryCode: string }
/** A code that fits; it counts only once it has been used up. */
export type Proof =
  | { method: 'totp'; factor: string; step: number }
  | { method: 'recovery_code'; factor: string; digests: readonly Buffer[] }

const recoveryCodes = 10

/** Without the blanks and dashes between the groups of a code, whichever way it comes. */
const withoutGroups = (code: string): string => code.replaceAll(/[\s\u2010-\u2015\u2212-]/g, '')

/** The second factor of users: a TOTP seed (RFC 6238), sealed where it is stored, and recovery codes of 128 bits. */
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

    /** Undefined when nothing that fits was given. Whether a recovery code exists shows when it is used up. */
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

    /** False when it was used before, on whatever replica, or the second factor is another one by now. */
    use: async (tx: Tx, tenant: TenantId, user: string, proof: Proof): Promise<boolean> => {
      if (proof.method === 'totp') return queries.useStep(tx, tenant, user, proof.factor, proof.step)
      if ((await queries.findSeed(tx, tenant, user))?.factor !== proof.factor) return false
      return queries.useRecoveryCode(tx, tenant, user, proof.digests, now())
    },

    /** Fresh codes, in the transaction that makes the factor; only their digests are kept. */
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
