import { send } from '../support/clients/raw-http.ts'

/**
 * The end of a browser's way: another site, with the form posted there, or a page of the provider that it can't leave.
 */
export type Arrived = { at: URL; form: Record<string, string> | undefined; text: string }

/**
 * A person's browser at an identity provider. It follows redirects and fills in each form that it finds once, with the
 * values that it knows. It keeps its cookies, and with them its single sign-on session.
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
        // By this header Keycloak distinguishes a person who types a device code from a program that requests one.
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
      // A form that appears again was refused.
      if (!found || given.has(found.names)) return { at, form: undefined, text: got.text }
      given.add(found.names)
      at = new URL(found.action, at)
      form = found.fields
    }
    throw new Error(`The provider leads in circles at ${at}`)
  }
}

/**
 * The first form of a page, filled in with the known values. Undefined if none of the fields that it asks for is known.
 */
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
