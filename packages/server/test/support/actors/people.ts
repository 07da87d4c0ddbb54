import assert from 'node:assert/strict'
import type { Role } from '@holdfast/contract/vocabulary'
import { totpCode, totpStep } from '@holdfast/crypto'
import { encodeId } from '../../../src/kernel/ids.ts'
import { cookieOf, type Got, type Sent, send } from '../clients/raw-http.ts'
import type { Kit, Replica } from '../deployment/deployment.ts'
import { until } from '../deployment/wait-until.ts'

export const passwordOf = (username: string) => `password of ${username}`

/** A local user with a password and roles; the TypeID. */
export const makeUser = async (kit: Kit, username: string, roles: readonly Role[] = []): Promise<string> => {
  const { userId } = await kit.app.identity.createUser(kit.tenant, { username, password: passwordOf(username), roles })
  return encodeId('user', userId)
}

export const trySignIn = (
  kit: Kit,
  username: string,
  more: { password?: string; totp?: string; recovery_code?: string } = {},
  { replica = kit, ...sent }: Partial<Sent> & { replica?: Pick<Replica, 'url'> } = {},
): Promise<Got> =>
  send(replica.url, {
    method: 'POST',
    path: '/admin/login',
    json: { username, password: passwordOf(username), ...more },
    ...sent,
  })

export type Person = ReturnType<typeof createPerson>
/** A signed-in person with a browser; it takes over every cookie that an answer sets. */
function createPerson(kit: Kit, signedIn: Got) {
  let cookie = cookieOf(signedIn)
  const request = async (sent: Sent, replica: Pick<Replica, 'url'> = kit): Promise<Got> => {
    const got = await send(replica.url, { ...sent, headers: { cookie, origin: kit.publicUrl, ...sent.headers } })
    if (got.headers['set-cookie']) cookie = cookieOf(got)
    return got
  }
  return {
    signedIn,
    cookie: () => cookie,
    request,
    get: (path: string, replica?: Pick<Replica, 'url'>) => request({ path }, replica),
    post: (path: string, json: unknown = {}, replica?: Pick<Replica, 'url'>) =>
      request({ method: 'POST', path, json }, replica),
  }
}

export const signInAs = async (kit: Kit, username: string, more: Parameters<typeof trySignIn>[2] = {}) => {
  const signedIn = await trySignIn(kit, username, more)
  assert.equal(signedIn.status, 200, signedIn.text)
  return createPerson(kit, signedIn)
}

/** Offset of a clock that starts with a new step of one-time codes, so that no step ends within a test. */
export const untilNextStep = (): number => 30_000 - (Date.now() % 30_000)

/** An authenticator app with the seed of an enrollment. */
export function createAuthenticator(secret: string, now: () => Date = () => new Date()) {
  const bits = [...secret]
    .map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'))
    .join('')
  const seed = Buffer.from(
    Array.from({ length: Math.floor(bits.length / 8) }, (_, i) => parseInt(bits.slice(i * 8, i * 8 + 8), 2)),
  )
  const code = (stepsAhead = 0) => totpCode(seed, totpStep(now()) + stepsAhead)
  return {
    code,
    /** Six digits that are no code of now. */
    wrong: () => {
      const near = [-1, 0, 1].map(code)
      return ['000000', '111111', '222222', '333333'].find((c) => !near.includes(c)) ?? ''
    },
  }
}
export type Authenticator = ReturnType<typeof createAuthenticator>

/** Signs in, enrolls, and shows the code; the clock must be moved before the next one counts. */
export async function enrollFactor(kit: Kit, username: string, now?: () => Date) {
  const person = await signInAs(kit, username)
  const begun = await person.post('/v1/admin/users/totp/enroll', { current_password: passwordOf(username) })
  assert.equal(begun.status, 200, begun.text)
  const app = createAuthenticator(begun.json.secret, now)
  const verified = await person.post('/v1/admin/users/totp/verify', { code: app.code() })
  assert.equal(verified.status, 200, verified.text)
  return { person, app, begun: begun.json, codes: verified.json.recovery_codes as string[] }
}

/** Asks until the answer has this status. */
export async function untilStatus(ask: () => Promise<{ status: number }>, status: number): Promise<void> {
  await until(async () => (await ask()).status === status, `status ${status}`)
}
