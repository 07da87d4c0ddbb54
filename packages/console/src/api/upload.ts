import { ApiError, toApiError } from './api-error.ts'
import { type InputOf, type OutputOf, urlOf } from './client.ts'
import { markLost, markReached } from './connection.ts'

const route = 'POST /v1/admin/updates/releases/{release_id}/packages'
type Upload = Pick<InputOf<typeof route>, 'params' | 'query'>
type Options = { signal: AbortSignal; onProgress: (share: number) => void }

/**
 * Largest file that is hashed first, in memory. With the hash, the server can check that the file arrived unchanged.
 */
const mostHashedBytes = 256 * 1024 * 1024

/**
 * Sends a file as a package of a draft. `fetch` reports no upload progress, so this uses an `XMLHttpRequest`.
 *
 * @throws {ApiError} as `call` does
 */
export async function uploadPackage({ params, query }: Upload, file: File, options: Options) {
  const digest = file.size <= mostHashedBytes ? await digestOf(file) : undefined
  options.signal.throwIfAborted()
  const url = urlOf('/v1/admin/updates/releases/{release_id}/packages', params, query)
  const { status, headers, text } = await send(url, file, digest, options)
  const response = new Response(text, { status, headers })
  if (!response.ok) throw await toApiError(response)
  return JSON.parse(text) as OutputOf<typeof route>
}

/** Returns the digest for `Repr-Digest` (RFC 9530 §3). */
async function digestOf(file: File): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', await file.arrayBuffer()))
  return `sha-256=:${btoa(String.fromCharCode(...hash))}:`
}

type Reply = { status: number; headers: Record<string, string>; text: string }

function send(url: string, file: File, digest: string | undefined, { signal, onProgress }: Options): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  const request = new XMLHttpRequest()
  request.open('POST', url)
  request.setRequestHeader('accept', 'application/json')
  request.setRequestHeader('content-type', 'application/octet-stream')
  if (digest) request.setRequestHeader('repr-digest', digest)
  request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
  request.onload = () => {
    markReached()
    resolve({ status: request.status, headers: headersOf(request), text: request.responseText })
  }
  request.onerror = () => {
    markLost()
    reject(new ApiError({ status: 0, code: 'offline', detail: 'The upload was interrupted. Nothing was added.' }))
  }
  request.onabort = () => reject(signal.reason)
  signal.addEventListener('abort', () => request.abort(), { once: true })
  request.send(file)
  return promise
}

/** Returns the headers that an API error is built from. */
const headersOf = (request: XMLHttpRequest): Record<string, string> =>
  Object.fromEntries(
    ['retry-after', 'x-request-id'].flatMap((name) => {
      const value = request.getResponseHeader(name)
      return value === null ? [] : [[name, value]]
    }),
  )
