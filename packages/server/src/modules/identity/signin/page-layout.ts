import { createHash } from 'node:crypto'
import type { Page } from '../../../http/page.ts'
import type { AppError } from '../../../kernel/app-error.ts'

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
export const escapeHtml = (text: string) => text.replaceAll(/[&<>"']/g, (c) => entities[c] ?? c)

const style = `:root{color-scheme:light dark;--page:#f3f5f8;--card:#fff;--ink:#172033;--soft:#56617a;--line:#c3cad8;--accent:#1f4fd8;--on-accent:#fff;--bad:#a3141d;--bad-bg:#fdecec}
@media (prefers-color-scheme:dark){:root{--page:#0e131d;--card:#171e2c;--ink:#e8ecf5;--soft:#a3aec4;--line:#45506a;--accent:#8fb0ff;--on-accent:#0b1220;--bad:#ffb3b3;--bad-bg:#3a1a20}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:1rem;background:var(--page);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{width:100%;max-width:24rem;padding:2rem 1.5rem;background:var(--card);border:1px solid var(--line);border-radius:.75rem;overflow-wrap:anywhere}
.brand{display:flex;align-items:center;gap:.625rem;margin:0 0 1.5rem;font-weight:600;letter-spacing:.01em}
.brand svg{width:1.75rem;height:1.75rem;flex:none;color:var(--accent)}
h1{margin:0 0 .25rem;font-size:1.375rem;line-height:1.25}
p{margin:0 0 1.25rem;color:var(--soft)}
label{display:block;margin:0 0 .375rem;font-weight:500}
input:not([type=hidden]){width:100%;min-height:2.75rem;margin:0 0 1.125rem;padding:.5rem .75rem;font:inherit;color:inherit;background:transparent;border:1px solid var(--soft);border-radius:.5rem}
details{margin:0 0 1.125rem}
summary{margin:0 0 .75rem;color:var(--soft);cursor:pointer}
small{font-weight:400;color:var(--soft)}
button{width:100%;min-height:2.75rem;margin-top:.25rem;padding:.5rem 1rem;font:inherit;font-weight:600;color:var(--on-accent);background:var(--accent);border:1px solid transparent;border-radius:.5rem;cursor:pointer}
a{color:var(--accent)}
.or{margin:1rem 0 .75rem;text-align:center}
h1+.alert{margin-top:1rem}
.choice{display:grid;place-items:center;min-height:2.75rem;margin:0 0 .625rem;padding:.5rem 1rem;font-weight:600;text-decoration:none;border:1px solid var(--line);border-radius:.5rem}
.choice:hover{border-color:var(--accent)}
.more{margin:1.25rem 0 0}
.more a,.links a{display:inline-block;padding:.625rem 0}
.links{display:flex;flex-wrap:wrap;gap:0 1.25rem;margin:0 0 1rem}
.plain{color:inherit;background:transparent;border-color:var(--soft)}
.hint{display:block;margin:-.75rem 0 1.125rem}
.qr{max-width:15rem;margin:0 auto 1.25rem;border:1px solid var(--line);border-radius:.5rem;overflow:hidden}
.qr svg{display:block;width:100%;height:auto}
code{font:1em/1.5 ui-monospace,monospace;color:var(--ink)}
.key{font-size:1.0625rem;letter-spacing:.03em}
.codes{margin:0 0 1.5rem;padding-left:2rem;color:var(--soft)}
.codes li{padding:.125rem 0}
button:hover{filter:brightness(1.08)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.alert{margin:0 0 1.25rem;padding:.75rem;color:var(--bad);background:var(--bad-bg);border:1px solid currentColor;border-radius:.5rem}
dl{display:grid;grid-template-columns:auto 1fr;gap:.375rem 1rem;margin:0 0 1.5rem}
dt{color:var(--soft)}
dd{margin:0}
@media (max-width:23rem){main{padding:1.5rem 1rem}.codes li{font-size:.875rem}}`

/** Nothing but this one style runs or loads, and forms go back to this site only. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
} as const

/** `main` is HTML: what comes from outside has been escaped. */
export const renderPage = (title: string, main: string): Buffer =>
  Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · Holdfast</title>
<style>${style}</style>
</head>
<body>
<main>
<div class="brand"><svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linejoin="round" aria-hidden="true"><path d="M12 2.5 4 5.5v6c0 5 3.4 8.6 8 10 4.6-1.4 8-5 8-10v-6z"/><path d="M9 8v8M15 8v8M9 12h6" stroke-linecap="round"/></svg>Holdfast</div>
${main}
</main>
</body>
</html>
`)

/** Another page of this site, as a browser goes on after a form. */
export const seeOther = (location: string, setCookie?: string): Page => ({
  status: 303,
  headers: { location, ...(setCookie !== undefined && { 'set-cookie': setCookie }) },
  body: Buffer.alloc(0),
})

/** What was wrong; fields that are wrong point to it. */
export const alertOf = (message: string | undefined): string =>
  message === undefined ? '' : `<div class="alert" role="alert" id="problem">${escapeHtml(message)}</div>`

/** The fields that a refusal is about. */
export const fieldNames = ({ errors = [] }: AppError): readonly string[] => errors.map((e) => e.field)

/** A refusal as a sentence, with the words that the page has for its fields. */
export function problemOf({ errors, message }: AppError, labels: Readonly<Record<string, string>>): string {
  const text = errors?.map((e) => `${labels[e.field] ?? e.field} ${e.message}`).join('; ') ?? message
  return sentenceOf(text)
}
export const sentenceOf = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`

type Field = {
  name: string
  label: string
  type: 'text' | 'password'
  autocomplete: string
  maxlength: number
  value?: string
  hint?: string
  inputmode?: 'numeric'
  optional?: boolean
  focus?: boolean
  /** Names of the fields that were wrong. */
  wrong?: readonly string[] | undefined
}
/** A label and its field. */
export function field(f: Field): string {
  const isWrong = f.wrong?.includes(f.name) ?? false
  const about = [...(f.wrong ? ['problem'] : []), ...(f.hint ? [`${f.name}-hint`] : [])]
  const attributes = [
    `id="${f.name}" name="${f.name}" type="${f.type}" autocomplete="${f.autocomplete}" maxlength="${f.maxlength}"`,
    ...(f.type === 'text' ? ['autocapitalize="none" spellcheck="false"'] : []),
    ...(f.inputmode ? [`inputmode="${f.inputmode}"`] : []),
    ...(f.optional ? [] : ['required']),
    ...(f.value === undefined ? [] : [`value="${escapeHtml(f.value)}"`]),
    ...(isWrong ? ['aria-invalid="true"'] : []),
    ...(about.length > 0 ? [`aria-describedby="${about.join(' ')}"`] : []),
    ...(f.focus ? ['autofocus'] : []),
  ]
  const hint = f.hint ? `\n<small class="hint" id="${f.name}-hint">${escapeHtml(f.hint)}</small>` : ''
  return `<label for="${f.name}">${escapeHtml(f.label)}</label>\n<input ${attributes.join(' ')}>${hint}`
}
