import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Contract, Output } from '@holdfast/contract'
import type { CallInput, Client } from '../client.ts'

type Upload = Omit<CallInput<Contract['uploadPackage']>, 'body'>

/**
 * Uploads a file as a package of a draft. The file is read twice: its SHA-256 is sent first, so that the server refuses
 * changed data.
 */
export async function uploadPackageFile(
  client: Pick<Client, 'uploadPackage'>,
  input: Upload,
  file: string,
  onProgress?: (sent: number, size: number) => void,
): Promise<Output<Contract['uploadPackage']>> {
  const { size } = await stat(file)
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  const headers = { 'content-length': String(size), 'repr-digest': `sha-256=:${hash.digest('base64')}:` }
  async function* bytes() {
    let sent = 0
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      sent += chunk.length
      onProgress?.(sent, size)
      yield chunk
    }
  }
  return client.uploadPackage({ ...input, body: bytes() }, { headers })
}
