import { send } from '../raw-http.ts'

/** Where a browser has come to: another site, with what it posts there, or a page of the provider that it can't leave. */
export type Arrived = { at: URL; form: Record<string, string> | undefined; text: string }

/**
 * Somebody's browser at an identity provider: follows where it is sent and fills in the forms that it finds with what
 * it knows, each once. It keeps its cookies, and so its single sign-on session.
 */
export function openProviderBrowser() {
  const cookies = new Map<string, string>()
  return async (url: string, knows: Record<string, string>): Promise<Arrived> => {
    const { origin } = new URL(url)
    let at = new URL(url)
    let form: Record<string, string> | undefined
    const given = new Set<string>()
    for (let step = 0; step < 20; step++) {
      if (at.origin !== origin) return { at, form, text: '' }
      const cookie = Array.from(cookies, (pair) => pair.join('=')).join('; ')
      const got = await send(origin, {
        path: at.pathname + at.search,
        // By which Keycloak tells a person who types a code from a program that asks for one.
        headers: { accept: 'text/html', ...(cookie && { cookie }) },
        ...(form && { method: 'POST', form }),
      })
      form = undefined
      for (const line of [got.headers['set-cookie'] ?? []].flat()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        cookies.set(name, value)
      }
      if (got.headers.location) {
        at = new URL(got.headers.location, at)
        continue
      }
      const found = formOf(got.text, knows)
      // A form that comes again was refused.
      if (!found || given.has(found.names)) return { at, form: undefined, text: got.text }
      given.add(found.names)
      at = new URL(found.action, at)
      form = found.fields
    }
    throw new Error(`The provider leads in circles at ${at}`)
  }
}

/** The first form of a page with what is known of its fields; undefined where nothing is known of what it asks. */
function formOf(page: string, knows: Record<string, string>) {
  const [, start = '', inside = ''] = /<form([^>]*)>(.*?)<\/form>/is.exec(page) ?? []
  const action = attribute(start, 'action')
  if (action === undefined) return undefined
  const fields: Record<string, string> = {}
  let isKnown = false
  let asks = false
  for (const [input] of inside.matchAll(/<(?:input|button)[^>]*>/gi)) {
    const name = attribute(input, 'name')
    if (name === undefined) continue
    const isHidden = attribute(input, 'type') === 'hidden'
    asks ||= !isHidden
    if (knows[name] !== undefined) {
      fields[name] = knows[name]
      isKnown ||= !isHidden
    } else if (isHidden) fields[name] = attribute(input, 'value') ?? ''
  }
  return isKnown || !asks ? { action, fields, names: Object.keys(fields).sort().join() } : undefined
}

function attribute(tag: string, name: string): string | undefined {
  const [, value] = new RegExp(`\\s${name}\\s*=\\s*"([^"]*)"`, 'i').exec(tag) ?? []
  return value
    ?.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replace(/&#x([0-9a-f]+);/gi, (_, code: string) => String.fromCodePoint(parseInt(code, 16)))
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
