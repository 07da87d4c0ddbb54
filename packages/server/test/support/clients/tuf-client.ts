import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BaseFetcher, Updater } from 'tuf-js'
import { DownloadHTTPError } from 'tuf-js/dist/error.js'
import type { Kit } from '../deployment/deployment.ts'
import { requestBytes } from '../domain/releases.ts'
import { bearer, type Caller } from './api-calls.ts'

const base = '/v1/update/tuf'
/** Replaces the answers of the repository to a client; returns the bytes that the client gets. */
export type Meddle = (path: string, bytes: Buffer) => Buffer

/** The client of the TUF project, which shares no code with ours. It trusts the first root or a later one. */
export async function tufClient(
  kit: Kit,
  {
    caller = bearer(kit.adminKey),
    root = 1,
    dispatcher = kit.dispatcher,
  }: {
    caller?: Caller
    root?: number
    dispatcher?: Kit['dispatcher']
  } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-tuf-'))
  kit.after(() => rm(folder, { recursive: true }))
  let meddle: Meddle = (_, bytes) => bytes
  const seen = new Map<string, Buffer>()
  const fetch = async (path: string) => {
    const answer = await requestBytes({ ...kit, dispatcher }, path, caller)
    if (answer.status !== 200) throw new DownloadHTTPError(`${path}: ${answer.status}`, answer.status)
    const bytes = meddle(path.slice(base.length), answer.bytes)
    seen.set(path.slice(base.length), bytes)
    return bytes
  }
  class Fetcher extends BaseFetcher {
    override async fetch(url: string) {
      const bytes = await fetch(new URL(url).pathname)
      return new Blob([new Uint8Array(bytes)]).stream() as ReadableStream<Uint8Array<ArrayBuffer>>
    }
  }
  await writeFile(join(folder, 'root.json'), await fetch(`${base}/metadata/${root}.root.json`))
  const updater = () =>
    new Updater({
      metadataDir: folder,
      metadataBaseUrl: `${kit.publicUrl}${base}/metadata/`,
      targetDir: folder,
      targetBaseUrl: `${kit.publicUrl}${base}/targets/`,
      fetcher: new Fetcher(),
    })
  return {
    /** The latest answers, by path. */
    seen,
    meddle: (next: Meddle) => {
      meddle = next
    },
    refresh: () => updater().refresh(),
    /** The bytes of a target, verified by the client; undefined if the metadata does not name it. */
    get: async (targetPath: string): Promise<Buffer | undefined> => {
      const client = updater()
      await client.refresh()
      const info = await client.getTargetInfo(targetPath)
      return info && readFile(await client.downloadTarget(info, join(folder, 'target')))
    },
    rootVersion: async (): Promise<number> =>
      JSON.parse(await readFile(join(folder, 'root.json'), 'utf8')).signed.version,
  }
}
