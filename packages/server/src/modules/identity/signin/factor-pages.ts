import type { HtmlPageAnswer } from '../../../http/answer/html-page.ts'
import type { Inside, SignedInPage, SignedInPages } from '../../../http/pages/page.ts'
import { type AppError, fail } from '../../../kernel/app-error.ts'
import type { Cookie } from '../sessions/cookie.ts'
import { nextOf, withNext } from './next-path.ts'
import {
  alertOf,
  escapeHtml,
  field,
  fieldNames,
  hiddenNext,
  pageHeaders,
  problemOf,
  renderPage,
  seeOther,
} from './page-layout.ts'
import type { Totp } from './totp.ts'

type Form = Readonly<Record<string, string>>
const labels = { current_password: 'Password', code: 'Code' }
const statusOf = (refusal: AppError) => (refusal.code === 'forbidden' ? 403 : 422)
/** Pattern of the URI that a page showed and sends back with the code. It is only shown again. */
const shownUri = /^otpauth:\/\/totp\/[\w%.~:@!'()*-]{1,2000}\?[\w%.~&=+-]{1,200}$/

/** Pages to enroll an authenticator app: the password, then the app's code, then the recovery codes. */
export function factorPages({ cookie, totp }: { cookie: Cookie; totp: Totp }): SignedInPages {
  async function begin(visit: Inside & { form?: Form }, refusal?: AppError): Promise<HtmlPageAnswer> {
    const { actor } = visit
    const { principal } = actor
    if (principal.mfa)
      return {
        headers: pageHeaders,
        body: renderPage(
          'Authenticator app',
          `<h1>Authenticator app</h1>
<p>Your account has an authenticator app. To change it, disable it with a code, or ask an administrator to disable it.</p>
<p class="more"><a href="${escapeHtml(nextOf(visit) ?? '/admin')}">Back</a></p>`,
        ),
      }
    const asks = await totp.asksPassword(actor)
    const isOwed = principal.requiredAction === 'enroll_mfa'
    return {
      ...(refusal && { status: statusOf(refusal) }),
      headers: pageHeaders,
      body: renderPage(
        'Authenticator app',
        `<h1>Set up an authenticator app</h1>
<p>${isOwed ? 'Your role requires one. ' : ''}After that, a sign-in with your password also asks for a code from the app.</p>
${alertOf(refusal && problemOf(refusal, labels))}
<form method="post" action="/admin/second-factor">
${asks ? field({ name: 'current_password', label: 'Your password', type: 'password', autocomplete: 'current-password', maxlength: 1024, wrong: refusal && fieldNames(refusal), focus: true }) : ''}
${hiddenNext(nextOf(visit))}<button type="submit">Continue</button>
</form>
${isOwed ? '' : '<p class="more"><a href="/admin">Back</a></p>'}`,
      ),
    }
  }

  async function scan(uri: string, next: string | undefined, refusal?: AppError): Promise<HtmlPageAnswer> {
    const secret = new URL(uri).searchParams.get('secret') ?? ''
    return {
      ...(refusal && { status: statusOf(refusal) }),
      headers: pageHeaders,
      body: renderPage(
        'Authenticator app',
        `<h1>Scan the code with your app</h1>
<p>Then enter the six digits that the app shows.</p>
${alertOf(refusal && problemOf(refusal, labels))}
<div class="qr">${await drawQr(uri, 'QR code that your authenticator app scans')}</div>
<details>
<summary>Can't scan the code?</summary>
<p>Enter this key in the app and choose “time based”:</p>
<p><code class="key">${escapeHtml(secret.replaceAll(/.{4}(?=.)/g, '$& '))}</code></p>
</details>
<form method="post" action="/admin/second-factor/verify">
${field({ name: 'code', label: 'Code from the app', type: 'text', inputmode: 'numeric', autocomplete: 'one-time-code', maxlength: 32, wrong: refusal && fieldNames(refusal), focus: true })}
<input type="hidden" name="shown" value="${escapeHtml(uri)}">
${hiddenNext(next)}<button type="submit">Finish</button>
</form>
<p class="more"><a href="${escapeHtml(withNext('/admin/second-factor', next))}">Start again</a></p>`,
      ),
    }
  }

  const finished = (
    codes: readonly string[],
    next: string | undefined,
    setCookie: string | undefined,
  ): HtmlPageAnswer => ({
    headers: { ...pageHeaders, ...(setCookie !== undefined && { 'set-cookie': setCookie }) },
    body: renderPage(
      'Recovery codes',
      `<h1>Save these recovery codes</h1>
<p>The app is set up. If you cannot use the app, for example because you lost your phone, sign in with a recovery code. Each code works once. They are shown only now.</p>
<ol class="codes">
${codes.map((code) => `<li><code>${escapeHtml(code)}</code></li>`).join('\n')}
</ol>
<a class="choice" href="${escapeHtml(next ?? '/admin')}">I have saved them</a>`,
    ),
  })

  const mayEnroll = ({ actor }: Inside): void => {
    if (actor.principal.requiredAction === 'change_password') fail('forbidden', 'set your own password first')
  }
  const led = (work: SignedInPage['get']): SignedInPage['get'] => {
    return (visit) =>
      visit.actor.principal.requiredAction === 'change_password'
        ? seeOther(withNext('/admin/password', nextOf(visit)))
        : work(visit)
  }

  return {
    '/admin/second-factor': {
      get: led(begin),
      form: {
        operation: 'enrollTotp',
        take: async (visit) => {
          mayEnroll(visit)
          const { current_password } = visit.form
          const { uri } = await totp.enroll(visit.actor, undefined, current_password || undefined)
          return scan(uri, nextOf(visit))
        },
        again: (refusal, visit) => begin(visit, refusal),
      },
    },
    '/admin/second-factor/verify': {
      get: (visit) => seeOther(withNext('/admin/second-factor', nextOf(visit))),
      form: {
        operation: 'verifyTotp',
        take: async (visit) => {
          mayEnroll(visit)
          const code = (visit.form.code ?? '').replaceAll(/\s/g, '')
          const { codes, renewed } = await totp.verify(visit.actor, undefined, code)
          return finished(codes, nextOf(visit), renewed && cookie.set(renewed.secret))
        },
        again: (refusal, visit) => {
          const { shown = '' } = visit.form
          return shownUri.test(shown) ? scan(shown, nextOf(visit), refusal) : begin(visit, refusal)
        },
      },
    },
  }
}

/** Light modules required around the code. */
const margin = 4

/**
 * Draws a text as a QR code: one path of dark squares on a light background, independent of the colours of the page.
 */
async function drawQr(text: string, description: string): Promise<string> {
  const { encodeQR } = await import('qr')
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: margin })
  const path = rows.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  const size = rows.length
  return `<svg viewBox="0 0 ${size} ${size}" role="img" aria-label="${escapeHtml(description)}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${path}"/></svg>`
}
