import { isAway } from '../../../db/unavailable.ts'
import type { HtmlPage, HtmlPageAnswer } from '../../../http/answer/html-page.ts'
import type { Forms } from '../../../http/pages/page.ts'
import type { Caller } from '../../../kernel/actor.ts'
import { AppError } from '../../../kernel/app-error.ts'
import type { IdentityDeps } from '../deps.ts'
import type { Cookie } from '../sessions/cookie.ts'
import type { Login } from './login.ts'
import { safeNext } from './next-path.ts'
import { pageHeaders, seeOther } from './page-layout.ts'
import { codePage, formOf, loginPage, tenantOfPlainSignIn, unavailablePage } from './pages.ts'

const wrongPassword = 'Wrong username or password. Check both and try again.'
const wrongCode = 'Wrong code. Wait until the app shows the next one, then try again.'
const tookTooLong = 'You took too long to enter the code. Sign in again.'
const waitText = (seconds: number) =>
  `Too many sign-ins have failed from this address. Try again in ${seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`}.`

type Failed = { status: number; headers: Readonly<Record<string, string>>; body: HtmlPage | Buffer }

/** Returns message and status for a failed sign-in; undefined for any other error. */
function loginProblem(
  e: unknown,
  wrong: string,
): { message: string; status: number; headers: Record<string, string> } | undefined {
  if (!(e instanceof AppError)) return undefined
  if (e.code === 'unauthorized')
    return { message: wrong, status: 401, headers: { ...pageHeaders, 'www-authenticate': 'Bearer' } }
  if (e.code === 'forbidden') return { message: e.message, status: 403, headers: pageHeaders }
  const wait = e.retryAfterSeconds ?? 1
  return e.code === 'rate_limited'
    ? { message: waitText(wait), status: 429, headers: { ...pageHeaders, 'retry-after': String(wait) } }
    : undefined
}

/** Returns the sign-in page after a failure. Any other error is thrown again. */
export async function failedPage(
  waysIn: IdentityDeps['waysIn'],
  e: unknown,
  { username, next }: { username: string; next: string | undefined },
  caller: Caller,
): Promise<Failed> {
  if (isAway(e)) return unavailablePage(next)
  const { message, ...answer } = loginProblem(e, wrongPassword) ?? fail(e)
  const slash = username.indexOf('/')
  const tenantName = slash < 0 ? tenantOfPlainSignIn : username.slice(0, slash)
  // The page is shown even if its providers cannot be read.
  const form = await formOf(waysIn, tenantName, caller, true).catch(() => nothingKnown(tenantName))
  return { ...answer, body: loginPage({ ...form, username, next, message }) }
}
const fail = (e: unknown): never => {
  throw e
}
const nothingKnown = (tenantName: string) => ({ tenantName, offered: [], passwords: 'shown' as const })

/** Form of the second step of a sign-in. */
export const codeForms = ({ login, cookie }: { login: Login; cookie: Cookie }): Forms => ({
  '/admin/login/code': async ({ form, caller, isSameOrigin, usedOrigin }): Promise<HtmlPageAnswer> => {
    const { challenge = '', totp = '', recovery_code: recoveryCode = '' } = form
    const next = safeNext(form.next)
    const challengeState = await login.readChallenge(challenge)
    if (isSameOrigin === false) await login.refuseOtherSite(challengeState ?? '', caller, usedOrigin)
    if (!challengeState || challengeState.isOver) {
      await login.recordLateCode(challengeState, caller)
      const body = loginPage({ ...nothingKnown(tenantOfPlainSignIn), next, message: tookTooLong })
      return { status: 401, headers: { ...pageHeaders, 'www-authenticate': 'Bearer' }, body }
    }
    try {
      const { minted } = await login.finish(challengeState, { totp, recoveryCode }, caller)
      return seeOther(next ?? '/admin', cookie.set(minted.token))
    } catch (e) {
      const { message, ...answer } = loginProblem(e, wrongCode) ?? fail(e)
      return { ...answer, body: codePage({ username: challengeState.username, challenge, next, message }) }
    }
  },
})
