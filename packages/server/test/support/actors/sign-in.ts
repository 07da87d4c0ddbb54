import { signIn as signInBySdk } from '@holdfast/sdk'
import type { Caller } from '../clients/api-calls.ts'
import { type Sent, send } from '../clients/raw-http.ts'
import { adminPassword, type Kit } from '../deployment/deployment.ts'
import { passwordOf } from './people.ts'

/** The credentials of the first administrator. */
export const right = { username: 'admin', password: adminPassword }
/** The credentials of a user made by `makeUser`. */
export const accountOf = (username: string) => ({ username, password: passwordOf(username) })
export const signIn = (url: string, body: object = right, more: Partial<Sent> = {}) =>
  send(url, { method: 'POST', path: '/admin/login', json: body, ...more })

/** Signs in the administrator. */
export async function sessionOn(kit: Kit): Promise<Caller> {
  const { cookie } = await signInBySdk({
    baseUrl: kit.publicUrl,
    username: 'admin',
    password: adminPassword,
    dispatcher: kit.dispatcher,
  })
  return () => ({ cookie, origin: kit.publicUrl })
}
