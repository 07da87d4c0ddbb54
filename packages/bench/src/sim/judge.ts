import type { PolicyDocument } from '@holdfast/contract/policy-document'
import type { Complaints } from './complaints.ts'
import type { Directory, SimDevice } from './directory.ts'
import { isUsable } from './directory.ts'
import type { Fleet } from './fleet.ts'
import type { WantedPeers } from './gateway-process.ts'
import { type ExpectedPolicy, expectPeers, expectPolicy, keyOf, readPolicy } from './oracle.ts'

/** The policies in force, as the simulator published them. */
export type InForce = {
  stable: PolicyDocument
  /** The canary's document, the devices that must get it, and the percentage of the others that may. */
  canary: { document: PolicyDocument; must: (device: SimDevice) => boolean; share: number } | undefined
}

export function createJudge({
  directory,
  fleet,
  complaints,
}: {
  directory: Directory
  fleet: Fleet
  complaints: Complaints
}) {
  const readings = new Map<string, { policy: ExpectedPolicy; key: string; isCanary: boolean }>()
  const reading = (digest: string | null | undefined) => {
    const known = digest ? readings.get(digest) : undefined
    if (known || !digest) return known
    const content = fleet.contents.get(digest)
    if (!content) return undefined
    const policy = readPolicy(content)
    const read = { policy, key: keyOf(policy), isCanary: policy.rules.some(({ id }) => id === 'canary-beacon') }
    readings.set(digest, read)
    return read
  }

  const isOnCanary = (device: SimDevice): boolean => reading(fleet.held.get(device.index)?.digest)?.isCanary ?? false
  /** Only the server knows which devices the percentage selects: it depends on a secret of the tenant. */
  const documentOf = ({ stable, canary }: InForce, device: SimDevice): PolicyDocument =>
    canary && (canary.must(device) || (canary.share > 0 && isOnCanary(device))) ? canary.document : stable

  const expected = (force: InForce, device: SimDevice, now: number) =>
    expectPolicy(documentOf(force, device), directory, device, now)

  return {
    isOnCanary,
    /** Returns the policy that each device must hold now, as one text. */
    keys: (force: InForce): Map<number, string> => {
      const now = Date.now()
      return new Map(directory.devices.filter(isUsable).map((d) => [d.index, keyOf(expected(force, d, now))]))
    },
    keyOfHeld: (index: number): string | undefined => reading(fleet.held.get(index)?.digest)?.key,
    /** Compares the policy that every usable device holds with the expected one. Returns the number compared. */
    devices: (force: InForce): number => {
      const now = Date.now()
      const usable = directory.devices.filter(isUsable)
      for (const device of usable) {
        const want = expected(force, device, now)
        const got = reading(fleet.held.get(device.index)?.digest)
        if (got?.key !== keyOf(want))
          complaints.mismatch(`${device.name} ${device.id}: ${difference(want, got?.policy)}`)
      }
      return usable.length
    },
    /** Returns the peers that every gateway must let in, with the digests that the devices hold. */
    peers: (force: InForce): WantedPeers[] => {
      const now = Date.now()
      const byPool = new Map<string, WantedPeers['peers']>()
      return directory.gateways.map((gateway) => {
        const peers =
          byPool.get(gateway.pool.name) ??
          expectPeers((device) => documentOf(force, device), directory, gateway, now).map(
            (device): WantedPeers['peers'][number] => [
              device.id,
              fleet.held.get(device.index)?.digest ?? '',
              device.user?.id ?? null,
              device.wireguardKey,
            ],
          )
        byPool.set(gateway.pool.name, peers)
        return { gatewayId: gateway.id, peers }
      })
    },
  }
}
export type Judge = ReturnType<typeof createJudge>

/** The differences between two policies, in words. */
export function difference(want: ExpectedPolicy, got: ExpectedPolicy | undefined): string {
  if (!got) return `expected ${want.rules.length} rules, got no policy`
  const has = new Map(got.rules.map(({ id, text }) => [id, text]))
  const wanted = new Set(want.rules.map(({ id }) => id))
  const parts = [
    ...want.rules.filter(({ id }) => !has.has(id)).map(({ id }) => `expected rule ${id}, got none`),
    ...got.rules.filter(({ id }) => !wanted.has(id)).map(({ id }) => `got rule ${id}, expected none`),
    ...want.rules
      .filter(({ id, text }) => has.has(id) && has.get(id) !== text)
      .map(({ id, text }) => `rule ${id}: expected ${text}, got ${has.get(id)}`),
    ...(want.checks.join() === got.checks.join() ? [] : [`expected checks ${want.checks}, got ${got.checks}`]),
    ...(want.settings === got.settings ? [] : [`expected settings ${want.settings}, got ${got.settings}`]),
  ]
  return parts.slice(0, 3).join('; ') + (parts.length > 3 ? ` and ${parts.length - 3} more` : '')
}
