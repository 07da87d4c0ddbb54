import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { refuse } from './errors.ts'
import { createSemaphore } from './semaphore.ts'

/** Argon2id cost (RFC 9106): memory in KiB, passes, lanes. */
export type PasswordParams = { m: number; t: number; p: number }

/** The minimum recommended by OWASP: 19 MiB, two passes, one lane. */
export const defaultPasswordParams: PasswordParams = { m: 19_456, t: 2, p: 1 }

const saltLength = 16
const tagLength = 32
const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/
/** Limits the work that a stored row can cause. */
const ceiling: PasswordParams = { m: 1_048_576, t: 16, p: 16 }

type Hashed = PasswordParams & { salt: Buffer; tag: Buffer }

/**
 * Returns one form for passwords that look the same to the user (RFC 8265 §4.2.2). Every space is U+0020, because some
 * keyboards easily make U+00A0, and composed letters are NFC.
 */
export const canonicalPassword = (password: string): string => password.replace(/\p{Zs}/gu, ' ').normalize('NFC')

/**
 * Returns the texts that a stored hash may belong to: the canonical one, and the form from before spaces were mapped.
 * Their number depends only on the input, so that the time taken reveals nothing about the stored hash.
 */
const textsOf = (password: string): string[] => [...new Set([canonicalPassword(password), password.normalize('NFC')])]

const toBase64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')

function derive(text: string, salt: Buffer, length: number, { m, t, p }: PasswordParams): Promise<Buffer> {
  const parameters = {
    message: Buffer.from(text, 'utf8'),
    nonce: salt,
    parallelism: p,
    tagLength: length,
    memory: m,
    passes: t,
  }
  return new Promise((resolve, reject) => {
    argon2('argon2id', parameters, (error, tag) => (error ? reject(error) : resolve(tag)))
  })
}

function parsePhc(text: string): Hashed {
  const match = phc.exec(text)
  if (!match) refuse('malformed', 'the hash is not an argon2id PHC string')
  const [, m, t, p, salt = '', tag = ''] = match
  const params = { m: Number(m), t: Number(t), p: Number(p) }
  if (
    params.m > ceiling.m ||
    params.t > ceiling.t ||
    params.p > ceiling.p ||
    params.t < 1 ||
    params.p < 1 ||
    params.m < 8 * params.p
  ) {
    refuse('malformed', 'the argon2id parameters are out of range')
  }
  return { ...params, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') }
}

/** Hashes a password to a PHC string with a fresh salt. */
export async function hashPassword(password: string, params: PasswordParams = defaultPasswordParams): Promise<string> {
  const salt = randomBytes(saltLength)
  const tag = await derive(canonicalPassword(password), salt, tagLength, params)
  return `$argon2id$v=19$m=${params.m},t=${params.t},p=${params.p}$${toBase64(salt)}$${toBase64(tag)}`
}

/** True if the password made this PHC string. Throws `malformed` for a string that is no argon2id hash. */
export async function verifyPassword(phcText: string, password: string): Promise<boolean> {
  const { salt, tag, ...params } = parsePhc(phcText)
  let isSame = false
  for (const text of textsOf(password))
    isSame = timingSafeEqual(await derive(text, salt, tag.length, params), tag) || isSame
  return isSame
}

/**
 * Does the work of `verifyPassword` without a hash, so that an unknown user takes as long as a known one. Always false.
 */
export async function verifyDummy(password: string, params: PasswordParams = defaultPasswordParams): Promise<false> {
  const [salt, tag] = [randomBytes(saltLength), randomBytes(tagLength)]
  for (const text of textsOf(password)) timingSafeEqual(await derive(text, salt, tagLength, params), tag)
  return false
}

/** True if the hash was made with other parameters than the current ones. Hash again at the next successful login. */
export function needsRehash(phcText: string, params: PasswordParams = defaultPasswordParams): boolean {
  const { m, t, p, salt, tag } = parsePhc(phcText)
  return m !== params.m || t !== params.t || p !== params.p || salt.length < saltLength || tag.length < tagLength
}

export type PasswordHasher = ReturnType<typeof createPasswordHasher>

/**
 * Returns the same functions with at most `concurrency` computations at a time (each takes `m` KiB and a thread) and
 * `maxQueue` waiting. Beyond that they reject with `QueueFullError`, which means "busy", not "wrong".
 */
export function createPasswordHasher({
  concurrency,
  maxQueue,
  params = defaultPasswordParams,
}: {
  concurrency: number
  maxQueue: number
  params?: PasswordParams
}) {
  const run = createSemaphore({ concurrency, maxQueue })
  return {
    hashPassword: (password: string) => run(() => hashPassword(password, params)),
    verifyPassword: (phcText: string, password: string) => run(() => verifyPassword(phcText, password)),
    verifyDummy: (password: string) => run(() => verifyDummy(password, params)),
    needsRehash: (phcText: string) => needsRehash(phcText, params),
  }
}
