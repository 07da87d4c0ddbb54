import type { Readable } from 'node:stream'
import type { ByteRange } from '../../../kernel/download.ts'

/** A content in the store. Both ids were made here; no name that a caller chose is ever part of a path or a key. */
export type BlobName = { tenant: string; blobId: string }

/** Where the contents of packages are. A name is written once and never again. */
export type PackageStore = {
  /** Takes the file over; afterwards the content is there whole, or not at all. */
  put: (name: BlobName, file: string, size: number) => Promise<void>
  /** Throws where it is not there as it was put. */
  open: (name: BlobName, size: number, range: ByteRange | undefined) => Promise<Readable>
  /** Also where it is gone already. */
  remove: (name: BlobName) => Promise<void>
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
export function pathOf({ tenant, blobId }: BlobName): string {
  if (!uuid.test(tenant) || !uuid.test(blobId)) throw new Error('not the name of a content')
  return `${tenant}/${blobId}`
}
