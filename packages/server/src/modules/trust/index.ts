import { oneBatch } from '../../kernel/expiring-object.ts'
import { anchorHandlers } from './anchors/anchors.handlers.ts'
import { createRotation } from './anchors/rotation.ts'
import type { TrustDeps } from './deps.ts'
import { createTrustExpiries } from './expiries.ts'
import { trustJobs } from './jobs.ts'
import { pruneSets } from './sets/sets.queries.ts'
import { signerHandlers } from './signers/signers.handlers.ts'
import { createSigners } from './signers/signers.ts'
import { createTrusted } from './trust.ts'

export { type Authority, chainOf, type Keyring, rootOf } from './keys/keyring.ts'
export { KeyAwayError } from './keys/provider.ts'
export { createKeyProviders } from './keys/providers.ts'
export { backdated, signedLifetimes } from './lifetimes.ts'

export function createTrust(deps: TrustDeps) {
  const trusted = createTrusted(deps)
  const signers = createSigners({ ...deps, trusted })
  const rotation = createRotation({ ...deps, trusted })
  return {
    anchors: trusted.anchors,
    provision: trusted.provision,
    keyring: trusted.keyring,
    signerFor: trusted.signerFor,
    keyFor: trusted.keyFor,
    publishedKey: trusted.publishedKey,
    versionOf: trusted.versionOf,
    expiries: oneBatch(createTrustExpiries({ ...deps, trusted })),
    jobs: trustJobs({ ...deps, signers, rotation }),
    prunes: [pruneSets],
    stop: async () => void (await Promise.all(deps.providers.map((p) => p.stop?.()))),
    handlers: { ...anchorHandlers({ ...deps, trusted, rotation }), ...signerHandlers(signers) },
  }
}
export type Trust = ReturnType<typeof createTrust>
