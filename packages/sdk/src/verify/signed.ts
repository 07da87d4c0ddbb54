import { CryptoError } from '@holdfast/crypto/errors'
import { type KeyLookup, verifyJws } from '@holdfast/crypto/jws'
import { reject, VerificationError } from '../errors.ts'

/** Runs a check of `@holdfast/crypto` and converts its errors to `VerificationError`. */
export function verified<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof CryptoError) throw new VerificationError(error.code, error.message, { cause: error })
    throw error
  }
}

/** Returns the JSON object in a compact JWS of this type. Throws `VerificationError`. */
export function readSigned(jws: string, { typ, key }: { typ: string; key: KeyLookup }): Record<string, unknown> {
  const { payload } = verified(() => verifyJws(jws, { typ, key }))
  let value: unknown
  try {
    value = JSON.parse(payload.toString('utf8'))
  } catch {
    reject('malformed', `the ${typ} does not contain JSON`)
  }
  return isObject(value) ? value : reject('malformed', `the ${typ} does not contain an object`)
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const textOf = (value: unknown, name: string): string =>
  typeof value === 'string' && value !== '' ? value : reject('malformed', `${name} is not a string`)

export const countOf = (value: unknown, name: string): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? value
    : reject('malformed', `${name} is not a whole number of 0 or more`)

export const textsOf = (value: unknown, name: string): string[] =>
  Array.isArray(value) ? value.map((entry) => textOf(entry, name)) : reject('malformed', `${name} is not a list`)

/** RFC 3339 → Date. */
export function timeOf(value: unknown, name: string): Date {
  const time = new Date(textOf(value, name))
  return Number.isNaN(time.getTime()) ? reject('malformed', `${name} is not a time`) : time
}

export const listOf = (value: unknown, name: string): unknown[] =>
  Array.isArray(value) ? value : reject('malformed', `${name} is not a list`)
