import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { S3mini } from 's3mini'
import { second } from '../../../kernel/time.ts'
import type { BucketCredential } from '../deps.ts'
import { type PackageStore, pathOf } from './store.ts'

/** A bucket with the S3 interface. Its endpoint is the operator's choice, so it may be a private address. */
export function createBucketStore({
  url,
  ...options
}: { url: string; region: string } & BucketCredential): PackageStore {
  let client: S3mini | undefined
  // Loaded with the first package, because few deployments have a bucket.
  const bucket = async () => {
    const library = await import('s3mini')
    client ??= new library.S3mini({ endpoint: url, ...options, fetch: fetchInTime })
    return client
  }
  return {
    put: async (name, file, size) => {
      const s3 = await bucket()
      const bytes = createReadStream(file)
      try {
        const body = Readable.toWeb(bytes) as globalThis.ReadableStream
        await s3.putObject(pathOf(name), body, 'application/octet-stream', undefined, undefined, size)
      } finally {
        // Without a connection nothing else closes the stream.
        bytes.destroy()
      }
      await rm(file, { force: true })
    },
    open: async (name, size, range) => {
      const s3 = await bucket()
      const wanted = range ? range.last - range.first + 1 : size
      const answer = range
        ? await s3.getObjectRaw(pathOf(name), false, range.first, range.last + 1)
        : await s3.getObjectRaw(pathOf(name))
      if (answer.body && Number(answer.headers.get('content-length')) === wanted)
        return Readable.fromWeb(answer.body as ReadableStream)
      await answer.body?.cancel()
      throw new Error('a package in the bucket is missing or has another size')
    },
    remove: async (name) => void (await (await bucket()).deleteObject(pathOf(name))),
  }
}

/** Time in which an answer must begin. An upload has more time: its size at this many bytes a second. */
const timeouts = { answerMs: 20 * second, bytesPerSecond: 256 * 1024 }

/** Sends a stream body while it is read (`duplex`, Fetch standard §6.4). */
const fetchInTime: typeof fetch = async (url, init) => {
  const size = Number(new Headers(init?.headers).get('content-length') ?? 0)
  const late = new AbortController()
  const timer = setTimeout(
    () => late.abort(new Error('the bucket did not answer in time')),
    timeouts.answerMs + (size / timeouts.bytesPerSecond) * second,
  )
  try {
    return await fetch(url, { ...init, duplex: 'half', signal: late.signal } as RequestInit)
  } finally {
    clearTimeout(timer)
  }
}
