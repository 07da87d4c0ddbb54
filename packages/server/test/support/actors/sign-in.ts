import { ApiError } from '@holdfast/sdk'
import { type Sent, send } from '../clients/raw-http.ts'
import { adminPassword } from '../deployment/deployment.ts'
import { passwordOf } from './people.ts'

/** The credentials of the first administrator. */
export const right = { username: 'admin', password: adminPassword }
/** The credentials of a user made by `makeUser`. */
export const accountOf = (username: string) => ({ username, password: passwordOf(username) })
export const signIn = (url: string, body: object = right, more: Partial<Sent> = {}) =>
  send(url, { method: 'POST', path: '/admin/login', json: body, ...more })
export const statuses = (answers: { status: number }[]) => answers.map((a) => a.status)
export const count = <T>(list: readonly T[], wanted: T) => list.filter((x) => x === wanted).length
export const refusedWith = (status: number, about?: RegExp) => (e: unknown) =>
  e instanceof ApiError && e.status === status && (!about || about.test(e.message))
