import { randomBytes } from 'node:crypto'
import type { Contract, Input, Operation } from '@holdfast/contract'
import { examples } from '@holdfast/contract/examples'
import { generateKey, signTuf, softwareSigner, tufKeyId, tufKeyOf } from '@holdfast/crypto'
import type { Kit } from '../support/deployment/deployment.ts'
import { changeTo, upload } from '../support/domain/releases.ts'
import type { Here } from './here.ts'
import type { Setup } from './writes.ts'

type Root = Input<Contract['replaceTufRoot']>['body']
const random = () => Math.floor(Math.random() * 1e8)

/** Writes of releases and of the root that need more than the contract's example. */
export const updateWrites: Partial<Record<Operation, Setup>> = {
  createRelease: (_, world) => ({
    caller: world.callers.api_key,
    body: { ...examples.createRelease, version: `2.${random()}.${random()}` },
  }),
  updateRelease: async (kit, world) => {
    const { release_id } = world.own.ids as { release_id: string }
    const shown = await kit.admin.getRelease({ params: { release_id } })
    return { caller: world.callers.api_key, body: { ...shown, mandatory: true } }
  },
  changeRelease: async (kit, world) => {
    const { release_id } = world.own.ids as { release_id: string }
    await upload(kit.admin, release_id, randomBytes(100))
    await changeTo(kit.admin, release_id, { operation: 'publish' })
    return { caller: world.callers.api_key, body: examples.changeRelease }
  },
  uploadPackage: (_, world) => ({
    caller: world.callers.api_key,
    query: '?platform=windows&arch=arm64&filename=setup.msi',
    body: randomBytes(2000),
  }),
  replaceTufRoot: async (kit, world) => ({ caller: world.callers.api_key, body: await ownRoot(kit, world) }),
}

/** The next root, signed by the control plane itself, with one more key that is not required. */
async function ownRoot(kit: Kit, _: Here): Promise<Root> {
  const { root } = await kit.admin.tufStatus()
  const keeper = softwareSigner('tuf-root', generateKey('Ed25519').privateJwk)
  const key = tufKeyOf(keeper.publicJwk)
  const { version, keys, roles } = root.signed
  const keyids = [...roles.root.keyids, tufKeyId(key)]
  const signed = {
    ...root.signed,
    version: version + 1,
    keys: { ...keys, [tufKeyId(key)]: key },
    roles: { ...roles, root: { keyids, threshold: 1 } },
  }
  return signTuf(signed, [keeper])
}
