import type { Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField, failMaximum, tooMany } from '../../../kernel/app-error.ts'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import type { UpdatesDeps } from '../deps.ts'
import { countPackages, lockRelease } from '../releases/releases.queries.ts'
import { noRelease } from '../releases/releases.ts'
import { lockRepository } from '../repositories.queries.ts'
import type { IncomingPackages, Received } from '../store/incoming.ts'
import type { PackageStore } from '../store/store.ts'
import { targetOfPackage } from './package.ts'
import type { Package, PackageSlot } from './packages.queries.ts'
import * as queries from './packages.queries.ts'

/** Length and digest that the request announces: `Content-Length`, if present, and `Repr-Digest`. */
type Announced = { length: number | undefined; digest: string | undefined }
type Done = { package: Package; changed: boolean }

const mostPackages = 50
/** Most concurrent uploads. */
const most = { ofTenant: 32, ofAll: 128 }

/**
 * Adds packages to drafts. The bytes are counted and hashed while they are written to a file, which then goes to the
 * store, all outside of any transaction. A content that the tenant already has is not stored again. If the process ends
 * in between, a row lists the stored file, or a job removes it.
 */
export function createUploads({
  db,
  audit,
  now,
  packages: { largest, largestOfTenant },
  incoming,
  store,
}: Pick<UpdatesDeps, 'db' | 'audit' | 'now' | 'packages'> & { incoming: IncomingPackages; store: PackageStore }) {
  const running = new Map<TenantId, number>()
  let all = 0

  async function taken<T>(tenant: TenantId, work: () => Promise<T>): Promise<T> {
    const own = running.get(tenant) ?? 0
    if (own >= most.ofTenant || all >= most.ofAll) throw tooMany('concurrent uploads of packages', 5)
    running.set(tenant, own + 1)
    all++
    try {
      return await work()
    } finally {
      all--
      const left = (running.get(tenant) ?? 1) - 1
      if (left > 0) running.set(tenant, left)
      else running.delete(tenant)
    }
  }

  const requireDraft = async (tx: Tx, tenant: TenantId, releaseId: string) => {
    const release = (await lockRelease(tx, tenant, releaseId)) ?? noRelease()
    if (release.status !== 'draft')
      fail('validation_error', `the release is ${release.status}: only the packages of a draft can be changed`)
    return release
  }
  async function requireRoom(tx: Tx, tenant: TenantId, more: number): Promise<void> {
    if ((await queries.storedBytes(tx, tenant)) + more > largestOfTenant)
      fail(
        'validation_error',
        `all packages of the tenant together may have at most ${largestOfTenant} bytes: delete some first`,
      )
  }

  /** Adds the package in one transaction. Of several uploads with one content the first one stored is used. */
  async function add(tx: Tx, actor: Actor, slot: PackageSlot, received: Received, blobId: string | undefined) {
    const { sha256 } = received
    const tenant = actor.tenantId
    await lockRepository(tx, tenant)
    const release = await requireDraft(tx, tenant, slot.release_id)
    const there = await inSlot(tx, tenant, slot, received)
    if (there) return { package: there, changed: false, used: false }
    if ((await countPackages(tx, tenant, slot.release_id)) >= mostPackages)
      failMaximum(`the release has ${mostPackages} packages`, 'delete a package first')
    let blob = await queries.shareStored(tx, tenant, sha256)
    const used = !blob && blobId !== undefined
    if (used) {
      if (!(await queries.moveBlob(tx, tenant, blobId, { from: 'storing', to: 'stored' }, now()))) throw new Late()
      blob = await queries.shareStored(tx, tenant, sha256)
    }
    if (!blob) throw new Late()
    const id = { package_id: newUuid(), blob_id: blob.blob_id }
    const row = await queries.insertPackage(tx, tenant, { ...slot, ...id }, now())
    const added = { ...row, version: release.version, sha256: blob.sha256, size: blob.size }
    const release_id = encodeId('release', row.release_id)
    const package_id = encodeId('package', row.package_id)
    await audit.record(
      tx,
      actor,
      'package.created',
      { package_id, release_id, sha256 },
      { target: targetOfPackage(added) },
    )
    return { package: added, changed: true, used }
  }

  /** Adds the package with a content that is stored already, or stores the content first. */
  async function keep(actor: Actor, slot: PackageSlot, received: Received): Promise<Done> {
    const tenant = actor.tenantId
    const isStored = await db.inTenant(tenant, (tx) => queries.shareStored(tx, tenant, received.sha256))
    if (isStored) return db.inTenant(tenant, (tx) => add(tx, actor, slot, received, undefined))
    const blobId = newUuid()
    await db.inTenant(tenant, async (tx) => {
      await lockRepository(tx, tenant)
      await requireDraft(tx, tenant, slot.release_id)
      await inSlot(tx, tenant, slot, received)
      await requireRoom(tx, tenant, received.size)
      await queries.insertBlob(tx, tenant, { blob_id: blobId, sha256: received.sha256, size: received.size }, now())
    })
    let isUsed = false
    try {
      await store.put({ tenant, blobId }, received.file, received.size)
      const done = await db.inTenant(tenant, (tx) => add(tx, actor, slot, received, blobId))
      isUsed = done.used
      return done
    } finally {
      // If this fails too, the job that removes unused contents does it.
      if (!isUsed)
        await db
          .inTenant(tenant, (tx) => queries.moveBlob(tx, tenant, blobId, { from: 'storing', to: 'removing' }, now()))
          .catch(() => {})
    }
  }

  return {
    upload: (actor: Actor, slot: PackageSlot, bytes: AsyncIterable<Uint8Array>, announced: Announced): Promise<Done> =>
      taken(actor.tenantId, async () => {
        const digest = digestOf(announced.digest)
        const length = announced.length ?? 0
        if (length > largest)
          fail('bad_request', `the package is larger than ${largest} bytes, the maximum of a package`)
        await db.inTenant(actor.tenantId, async (tx) => {
          await requireDraft(tx, actor.tenantId, slot.release_id)
          await requireRoom(tx, actor.tenantId, 0)
        })
        const received = await incoming.receive(bytes, largest)
        try {
          if (digest !== undefined && digest !== received.sha256)
            failField('Repr-Digest', `differs from the SHA-256 of the received content, ${received.sha256}`)
          return await keep(actor, slot, received).catch((e) => {
            // The content was removed in between, so it is stored again.
            if (e instanceof Late) return keep(actor, slot, received)
            throw e
          })
        } finally {
          await incoming.discard(received.file)
        }
      }),
  }
}
export type Uploads = ReturnType<typeof createUploads>

/** Returns the package if it already exists with the same content. */
async function inSlot(tx: Tx, tenant: TenantId, slot: PackageSlot, { sha256 }: Received): Promise<Package | undefined> {
  const there = await queries.packageInSlot(tx, tenant, slot)
  if (there && there.sha256 !== sha256)
    failField('filename', 'the release already has this package with other content: delete that package first')
  return there
}

/** The stored content is being removed. */
class Late extends Error {}

/** Returns the SHA-256 of `Repr-Digest` (RFC 9530 §3) in hexadecimal. Other algorithms are ignored. */
function digestOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const [, base64] = /(?:^|,)\s*sha-256\s*=\s*:([A-Za-z0-9+/]{43}=):/.exec(header) ?? []
  if (base64 === undefined) return fail('bad_request', 'Repr-Digest: must be sha-256=:<base64>:')
  return Buffer.from(base64, 'base64').toString('hex')
}
