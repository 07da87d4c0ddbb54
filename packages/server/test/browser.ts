import type { Replica } from './kit.ts'
import { type Got, send } from './raw-http.ts'

/** Somebody's browser at this deployment: it keeps every cookie that it is given. */
export function openBrowser(replica: Pick<Replica, 'url'>) {
  const cookies = new Map<string, string>()
  const get = async (path: string, at = replica): Promise<Got> => {
    const cookie = Array.from(cookies, (pair) => pair.join('=')).join('; ')
    const got = await send(at.url, { path, headers: cookie ? { cookie } : {} })
    for (const line of [got.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    return got
  }
  return { get, cookies }
}
export type Browser = ReturnType<typeof openBrowser>
