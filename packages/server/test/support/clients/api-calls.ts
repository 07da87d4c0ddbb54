import { contract, type Endpoint, type Operation } from '@holdfast/contract'
import { createProof, type PrivateJwk } from '@holdfast/crypto'
import { request } from 'undici'
import type { Kit } from '../deployment/deployment.ts'

export type ApiAnswer = {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  json: Record<string, unknown>
}
/** Makes the headers of one request: a credential, and a proof if the credential needs one. */
export type Caller = (method: string, url: string) => Record<string, string>

export const bearer =
  (token: string): Caller =>
  () => ({ authorization: `Bearer ${token}` })

/** The target of a request: the public URL, reached through one replica. */
export type ApiTarget = Pick<Kit, 'publicUrl' | 'dispatcher'>

/** Sends a request as given to the public URL of a kit. */
export async function sendToKit(
  kit: ApiTarget,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string | Buffer,
): Promise<ApiAnswer> {
  const response = await request(kit.publicUrl + path, {
    method: method as 'GET',
    headers,
    dispatcher: kit.dispatcher,
    ...(body !== undefined && { body }),
  })
  const text = await response.body.text()
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    json: text.startsWith('{') ? JSON.parse(text) : {},
  }
}

export const call = (
  kit: ApiTarget,
  e: { method: string; path: string },
  caller: Caller | null,
  body?: unknown,
  query = '',
): Promise<ApiAnswer> => {
  const url = kit.publicUrl + e.path
  const type = body instanceof Uint8Array ? 'application/octet-stream' : 'application/json'
  const json = body === undefined ? {} : { 'content-type': type }
  return sendToKit(
    kit,
    e.method,
    e.path + query,
    { ...json, ...caller?.(e.method, url) },
    body === undefined ? undefined : body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body),
  )
}

export const operation = (name: Operation): Endpoint => contract[name]
export const deviceCaller =
  (credential: string, key: PrivateJwk, now = () => new Date()): Caller =>
  (method, url) => ({
    authorization: `Bearer ${credential}`,
    dpop: createProof(key, { method, url, accessToken: credential, now: now() }),
  })
