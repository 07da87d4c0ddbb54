import type { Replica } from '../deployment/deployment.ts'
import { type Got, type Sent, send } from './raw-http.ts'
import { assertStrictPage } from './strict-pages.ts'

const fromHere: Record<string, string> = { 'sec-fetch-site': 'same-origin' }

/**
 * A browser at this deployment. It keeps its cookies, and asserts that each page has the strict headers required of
 * all.
 */
export function openBrowser(replica: Pick<Replica, 'url'>) {
  const cookies = new Map<string, string>()
  const request = async (sent: Sent, at: Pick<Replica, 'url'>): Promise<Got> => {
    const cookie = Array.from(cookies, (pair) => pair.join('=')).join('; ')
    const got = await send(at.url, { ...sent, headers: { ...(cookie && { cookie }), ...sent.headers } })
    for (const line of [got.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    if (sent.method !== 'HEAD' && got.headers['content-type']?.startsWith('text/html')) assertStrictPage(got, sent.path)
    return got
  }
  const get = (path: string, at = replica): Promise<Got> => request({ path }, at)
  /** Sends the first form of a page; typed values replace those in the page. */
  const submit = (page: Got, typed: Record<string, string> = {}, headers = fromHere, at = replica): Promise<Got> => {
    const [, action = '', inside = ''] = /<form method="post" action="([^"]+)">([\s\S]*?)<\/form>/.exec(page.text) ?? []
    const inputs = Array.from(inside.matchAll(/<input ([^>]*)>/g), ([, attributes = '']) => {
      const its = (name: string) =>
        new RegExp(`(?:^| )${name}="([^"]*)"`).exec(attributes)?.[1]?.replaceAll('&amp;', '&')
      return [its('name') ?? '', its('value') ?? ''] as const
    })
    return request({ method: 'POST', path: action, form: { ...Object.fromEntries(inputs), ...typed }, headers }, at)
  }
  /** Follows redirects until a page comes. */
  const follow = async (got: Got): Promise<Got> =>
    got.status === 303 ? follow(await get(String(got.headers.location))) : got
  return {
    cookies,
    request: (sent: Sent) => request(sent, replica),
    get,
    submit,
    follow,
    /** Posts a form, as a page of any site could. */
    post: (path: string, form: Record<string, string>, at = replica) => request({ method: 'POST', path, form }, at),
  }
}
export type Browser = ReturnType<typeof openBrowser>
