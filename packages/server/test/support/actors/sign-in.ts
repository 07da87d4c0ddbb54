import { signIn as signInBySdk } from '@holdfast/sdk'
import type { Caller } from '../clients/api-calls.ts'
import { type RawRequest, send } from '../clients/raw-http.ts'
import { adminPassword, type Kit } from '../deployment/deployment.ts'
import { passwordOf } from './people.ts'

/** The credentials of the first administrator. */
export const adminLogin = { username: 'admin', password: adminPassword }
/** The credentials of a user made by `makeUser`. */
export const loginOf = (username: string) => ({ username, password: passwordOf(username) })
export const signIn = (url: string, body: object = adminLogin, more: Partial<RawRequest> = {}) =>
  send(url, { method: 'POST', path: '/admin/login', json: body, ...more })

/** Signs in the administrator. */
export async function adminSession(kit: Kit): Promise<Caller> {
  const { cookie } = await signInBySdk({
    baseUrl: kit.publicUrl,
    username: 'admin',
    password: adminPassword,
    dispatcher: kit.dispatcher,
  })
  return () => ({ cookie, origin: kit.publicUrl })
}
