import { contract, type Endpoint, type Operation } from '@holdfast/contract'
import { createProof, generateKey, type PrivateJwk } from '@holdfast/crypto'
import { request } from 'undici'
import type { Kit } from '../deployment/deployment.ts'

export type Raw = {
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
export type Reached = Pick<Kit, 'publicUrl' | 'dispatcher'>

/** Sends a request as given to the public URL of a kit. */
export async function send(
  kit: Reached,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string | Buffer,
): Promise<Raw> {
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
  kit: Reached,
  e: { method: string; path: string },
  caller: Caller | null,
  body?: unknown,
  query = '',
): Promise<Raw> => {
  const url = kit.publicUrl + e.path
  const type = body instanceof Uint8Array ? 'application/octet-stream' : 'application/json'
  const json = body === undefined ? {} : { 'content-type': type }
  return send(
    kit,
    e.method,
    e.path + query,
    { ...json, ...caller?.(e.method, url) },
    body === undefined ? undefined : body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body),
  )
}

export const operation = (name: Operation): Endpoint => contract[name]

export type RawDevice = { id: string; credential: string; key: PrivateJwk; caller: Caller }
export const deviceCaller =
  (credential: string, key: PrivateJwk, now = () => new Date()): Caller =>
  (method, url) => ({
    authorization: `Bearer ${credential}`,
    dpop: createProof(key, { method, url, accessToken: credential, now: now() }),
  })

/** Enrolls a device with a fresh key, without the SDK. */
export async function enrollRaw(kit: Reached, token: string, name = 'laptop'): Promise<RawDevice> {
  const { privateJwk } = generateKey('ES256')
  const answer = await call(kit, contract.enroll, deviceCaller(token, privateJwk), {
    device: { name, platform: 'linux' },
  })
  if (answer.status !== 201) throw new Error(`enrollment refused: ${answer.status} ${answer.text}`)
  const credential = String(answer.json.credential)
  return {
    id: String(answer.json.device_id),
    credential,
    key: privateJwk,
    caller: deviceCaller(credential, privateJwk),
  }
}
