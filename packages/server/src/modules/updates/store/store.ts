import type { Readable } from 'node:stream'
import type { ByteRange } from '../../../kernel/results.ts'

/** Name of a content in the store. This server made both ids; no name chosen by a caller is part of a path or a key. */
export type BlobName = { tenant: string; blobId: string }

/** Store of package contents. Each name is written only once. */
export type PackageStore = {
  /** Moves the file into the store. Afterwards the content is there completely, or not at all. */
  put: (name: BlobName, file: string, size: number) => Promise<void>
  /** Throws if the content is missing or has another size. */
  open: (name: BlobName, size: number, range: ByteRange | undefined) => Promise<Readable>
  /** Succeeds even if the content is already removed. */
  remove: (name: BlobName) => Promise<void>
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
export function pathOf({ tenant, blobId }: BlobName): string {
  if (!uuid.test(tenant) || !uuid.test(blobId)) throw new Error('invalid name of a stored package')
  return `${tenant}/${blobId}`
}
