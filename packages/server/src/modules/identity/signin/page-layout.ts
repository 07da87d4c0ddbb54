import { HtmlPage, type HtmlPageAnswer } from '../../../http/answer/html-page.ts'
import type { AppError } from '../../../kernel/app-error.ts'
import { iconLink, shield, styleLink } from './page-style.ts'

export { pageHeaders } from '../../../http/pages/page-headers.ts'

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
export const escapeHtml = (text: string) => text.replaceAll(/[&<>"']/g, (c) => entities[c] ?? c)

/** Renders a whole page. `head` and `body` are HTML; text from outside is already escaped. */
export const renderDocument = ({ title, head, body }: { title: string; head: string; body: string }): HtmlPage =>
  new HtmlPage(
    (attributes) => `<!doctype html>
<html ${attributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
${iconLink}
${head}
</head>
<body>
${body}
</body>
</html>
`,
  )

/** `main` is HTML; text from outside is already escaped. */
export const renderPage = (title: string, main: string): HtmlPage =>
  renderDocument({
    title: `${title} · Holdfast`,
    head: styleLink,
    body: `<main>
<div class="brand">${shield}Holdfast</div>
${main}
</main>`,
  })

/** Redirects to another page of this site, as after a form. */
export const seeOther = (location: string, setCookie?: string): HtmlPageAnswer => ({
  status: 303,
  headers: { location, ...(setCookie !== undefined && { 'set-cookie': setCookie }) },
  body: Buffer.alloc(0),
})

/** Renders a message about an error. Wrong fields refer to it. */
export const alertOf = (message: string | undefined): string =>
  message === undefined ? '' : `<div class="alert" role="alert" id="problem">${escapeHtml(message)}</div>`

/** Returns the names of the fields with errors. */
export const fieldNames = ({ errors = [] }: AppError): readonly string[] => errors.map((e) => e.field)

/** Returns an error as a sentence, with the page's labels for its fields. An empty label is left out. */
export function problemOf({ errors, message }: AppError, labels: Readonly<Record<string, string>>): string {
  const text = errors?.map((e) => `${labels[e.field] ?? e.field} ${e.message}`.trim()).join('; ') ?? message
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
  /** Names of the wrong fields. */
  wrong?: readonly string[] | undefined
}
/** Renders a label and its field. */
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

/** Renders a hidden field that carries a path from form to form. */
export const hiddenNext = (next: string | undefined): string =>
  next === undefined ? '' : `<input type="hidden" name="next" value="${escapeHtml(next)}">\n`
