import type { Replica } from './kit.ts'
import { type Got, type Sent, send } from './raw-http.ts'

/** Somebody's browser at this deployment: it keeps every cookie that it is given. */
export function openBrowser(replica: Pick<Replica, 'url'>) {
  const cookies = new Map<string, string>()
  const ask = async (sent: Sent, at: Pick<Replica, 'url'>): Promise<Got> => {
    const cookie = Array.from(cookies, (pair) => pair.join('=')).join('; ')
    const got = await send(at.url, { ...sent, headers: cookie ? { cookie } : {} })
    for (const line of [got.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    return got
  }
  return {
    cookies,
    get: (path: string, at = replica) => ask({ path }, at),
    /** A form, as a page of any site may send one. */
    post: (path: string, form: Record<string, string>, at = replica) => ask({ method: 'POST', path, form }, at),
  }
}
export type Browser = ReturnType<typeof openBrowser>
