import { createHash } from 'node:crypto'
import { withConnection } from '../db/connection.ts'
import type { PackageStore } from '../modules/updates/index.ts'

const page = 500

type Blob = { tenant_id: string; blob_id: string; sha256: string; size: string }

/** Reads all packages that the database lists from their store. Returns those that are missing or changed. */
export async function missingPackages(url: string, store: PackageStore): Promise<string[]> {
  const missing: string[] = []
  let after = ['00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000']
  for (;;) {
    const blobs = await withConnection(url, (connection) =>
      connection.ask<Blob>(
        `select tenant_id, blob_id, sha256, size from package_blobs
         where state = 'stored' and (tenant_id, blob_id) > ($1::uuid, $2::uuid) order by 1, 2 limit ${page}`,
        after,
      ),
    )
    for (const blob of blobs) if (!(await isThere(store, blob))) missing.push(`${blob.tenant_id}/${blob.blob_id}`)
    const last = blobs.at(-1)
    if (!last || blobs.length < page) return missing
    after = [last.tenant_id, last.blob_id]
  }
}

async function isThere(store: PackageStore, { tenant_id, blob_id, sha256, size }: Blob): Promise<boolean> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of await store.open({ tenant: tenant_id, blobId: blob_id }, Number(size), undefined))
      hash.update(chunk)
  } catch {
    return false
  }
  return hash.digest('hex') === sha256
}
