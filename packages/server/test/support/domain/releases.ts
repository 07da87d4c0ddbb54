import { createHash, randomBytes } from 'node:crypto'
import type { Contract, Input } from '@holdfast/contract'
import type { Client, RequestOptions } from '@holdfast/sdk'
import { request } from 'undici'
import { enroll } from '../actors/gateways.ts'
import type { Caller, Reached } from '../clients/api-calls.ts'
import type { Kit } from '../deployment/deployment.ts'

type Slot = Input<Contract['uploadPackage']>['query']
type Draft = Omit<Input<Contract['createRelease']>['body'], 'version' | 'channel'>
export const linux = { platform: 'linux', arch: 'x64' } as const
export const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
export const contentOf = (text: string) => Buffer.from(`package of ${text}\n`.repeat(50))

/** Yields bytes in pieces, as a network delivers them. */
export async function* pieces(bytes: Uint8Array, size = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export const upload = (
  client: Client,
  release_id: string,
  bytes: Uint8Array,
  slot: Partial<Slot> = {},
  options: RequestOptions = {},
) =>
  client.uploadPackage(
    { params: { release_id }, query: { ...linux, filename: 'client.tar.gz', ...slot }, body: pieces(bytes) },
    options,
  )

/** Creates a draft release with a package for Linux on x64. */
export async function draft(
  kit: Kit,
  version: string,
  { channel = 'stable', client = kit.admin, ...more }: Draft & { channel?: 'canary' | 'stable'; client?: Client } = {},
) {
  const { release_id } = await client.createRelease({ body: { version, channel, ...more } })
  const made = await upload(client, release_id, contentOf(version))
  return { release_id, package: made.package, params: { params: { release_id } } }
}

type Change = Input<Contract['changeRelease']>['body']
export const changeTo = (client: Client, release_id: string, body: Change) =>
  client.changeRelease({ params: { release_id }, body })

/** Publishes a release, to all devices unless a rollout is given. */
export async function release(
  kit: Kit,
  version: string,
  { rollout, ...more }: Parameters<typeof draft>[2] & Pick<Change, 'rollout'> = {},
) {
  const made = await draft(kit, version, more)
  await changeTo(more.client ?? kit.admin, made.release_id, { operation: 'publish', ...(rollout && { rollout }) })
  return made
}

/** The updates offered to a device, as an administrator sees them. */
export const offered = (
  kit: Kit,
  device_id: string,
  more: Partial<Input<Contract['updateManifest']>['query']> = {},
  client = kit.admin,
) => client.updateManifest({ query: { ...linux, version: '1.0.0', device_id, ...more } })
export const versionsIn = ({ updates }: { updates: readonly { version: string }[] }) => updates.map((u) => u.version)

/** Enrolls a device on one of the channels. */
export async function deviceOn(kit: Kit, name: string, channel: 'auto' | 'canary' | 'stable' = 'auto') {
  const device = await enroll(kit, name)
  if (channel !== 'auto')
    await kit.admin.changeDevice({
      body: { operation: 'update', device_id: device.id, device: { channel } },
    })
  return device
}

export const randomContent = (size: number) => randomBytes(size)

/** An answer as bytes. */
export async function requestBytes(
  kit: Reached,
  path: string,
  caller: Caller,
): Promise<{ status: number; bytes: Buffer }> {
  const { statusCode: status, body } = await request(kit.publicUrl + path, {
    headers: caller('GET', kit.publicUrl + path),
    dispatcher: kit.dispatcher,
  })
  return { status, bytes: Buffer.from(await body.arrayBuffer()) }
}
