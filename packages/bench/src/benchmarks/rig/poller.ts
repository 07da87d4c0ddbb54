import { type Connection, openConnection } from './http-connection.ts'
import { headerOf, type RawAnswer, readAnswer } from './requests.ts'

/** Repeats the same request on one connection, as fast as the answers come. */
export async function openPoller(port: number, request: Uint8Array) {
  let waiting: { resolve: (answer: RawAnswer) => void; reject: (e: Error) => void } | undefined
  const connection: Connection = await openConnection(
    { port },
    (_status, raw) => waiting?.resolve(readAnswer(Buffer.from(raw))),
    (e) => waiting?.reject(e),
  )
  const ask = () =>
    new Promise<RawAnswer>((resolve, reject) => {
      waiting = { resolve, reject }
      connection.send(request)
    })
  return {
    ask,
    etag: async (): Promise<string> => headerOf(await ask(), 'etag') ?? '',
    /** Settles with the time (`performance.now()`) of the first answer with another ETag; rejects if `cause` does. */
    changedFrom: async (etag: string, cause: Promise<unknown>): Promise<number> => {
      let failed = false
      cause.catch(() => {
        failed = true
      })
      while (!failed) if (headerOf(await ask(), 'etag') !== etag) return performance.now()
      await cause
      return Number.NaN
    },
    end: connection.end,
  }
}
