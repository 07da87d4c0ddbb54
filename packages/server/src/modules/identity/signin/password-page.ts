import { passwordWithSecondFactor } from '@holdfast/contract/limits'
import type { HtmlPageAnswer } from '../../../http/answer/html-page.ts'
import type { Inside, SignedInPage } from '../../../http/pages/page.ts'
import { type AppError, fail, failField } from '../../../kernel/app-error.ts'
import type { IdentityDeps } from '../deps.ts'
import type { Cookie } from '../sessions/cookie.ts'
import { nextOf, withNext } from './next-path.ts'
import { alertOf, field, fieldNames, hiddenNext, pageHeaders, problemOf, renderPage, seeOther } from './page-layout.ts'
import type { Passwords } from './passwords.ts'

/** The error of `again` is a sentence of its own. */
const labels = { new_password: 'New password', again: '' }

type Form = Readonly<Record<string, string>>

/** Page to set the own password, in particular after a sign-in with a temporary one. */
export function passwordPage(deps: {
  cookie: Cookie
  passwords: Passwords
  tenancy: Pick<IdentityDeps['tenancy'], 'settings'>
}): SignedInPage {
  const { cookie, passwords, tenancy } = deps

  async function page(visit: Inside & { form?: Form }, refusal?: AppError): Promise<HtmlPageAnswer> {
    const { principal } = visit.actor
    const { min_length } = (await tenancy.settings(principal.tenantId)).passwords
    const least = principal.mfa ? Math.min(passwordWithSecondFactor, min_length) : min_length
    const isOwed = principal.requiredAction === 'change_password'
    const current = isOwed ? 'Temporary password' : 'Current password'
    const wrong = refusal && fieldNames(refusal)
    return {
      ...(refusal && { status: refusal.code === 'forbidden' ? 403 : 422 }),
      headers: pageHeaders,
      body: renderPage(
        refusal ? 'The password was not changed' : 'Your password',
        `<h1>${isOwed ? 'Set your own password' : 'Change your password'}</h1>
<p>${isOwed ? 'Your temporary password works for only one sign-in. Enter it again, then choose your own password.' : 'Your other sessions will end.'}</p>
${alertOf(refusal && problemOf(refusal, { ...labels, current_password: current }))}
<form method="post" action="/admin/password">
${field({ name: 'current_password', label: current, type: 'password', autocomplete: 'current-password', maxlength: 1024, wrong, focus: true })}
${field({ name: 'new_password', label: labels.new_password, hint: `At least ${least} characters. Several words are easy to remember and hard to guess.`, type: 'password', autocomplete: 'new-password', maxlength: 1024, wrong })}
${field({ name: 'again', label: 'Repeat the new password', type: 'password', autocomplete: 'new-password', maxlength: 1024, wrong })}
${hiddenNext(nextOf(visit))}<button type="submit">Set the password</button>
</form>
${isOwed ? '' : '<p class="more"><a href="/admin">Back</a></p>'}`,
      ),
    }
  }

  return {
    get: (visit) =>
      visit.actor.principal.requiredAction === 'enroll_mfa'
        ? seeOther(withNext('/admin/second-factor', nextOf(visit)))
        : page(visit),
    form: {
      operation: 'changePassword',
      take: async ({ actor, form, query }) => {
        if (actor.principal.requiredAction === 'enroll_mfa') fail('forbidden', 'set up an authenticator app first')
        const { current_password = '', new_password = '', again = '' } = form
        if (again !== new_password) failField('again', 'the two new passwords differ')
        const { renewed } = await passwords.change(actor, { current_password, new_password })
        return seeOther(nextOf({ form, query }) ?? '/admin', renewed && cookie.set(renewed.secret))
      },
      again: (refusal, visit) => page(visit, refusal),
    },
  }
}
