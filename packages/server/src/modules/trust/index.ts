import { background } from '../../db/database.ts'
import { jobSource } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { anchorHandlers } from './anchors/anchors.handlers.ts'
import { renewIssuingAfter } from './anchors/hierarchy.ts'
import { activeIssuing } from './anchors/rotation.queries.ts'
import { createRotation, type Rotation } from './anchors/rotation.ts'
import type { TrustDeps } from './deps.ts'
import { createTrustExpiries } from './expiries.ts'
import { dueToDestroy, forgetDestroyed } from './keys/keys.queries.ts'
import { pruneSets } from './sets/sets.queries.ts'
import { signerHandlers } from './signers/signers.handlers.ts'
import { dueToRetire } from './signers/signers.queries.ts'
import { createSigners, type Signers } from './signers/signers.ts'
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
    expiries: createTrustExpiries({ ...deps, trusted }),
    jobs: trustJobs({ ...deps, signers, rotation }),
    prunes: [pruneSets],
    stop: async () => void (await Promise.all(deps.providers.map((p) => p.stop?.()))),
    handlers: { ...anchorHandlers({ ...deps, trusted, rotation }), ...signerHandlers(signers) },
  }
}
export type Trust = ReturnType<typeof createTrust>

function trustJobs({
  db,
  now,
  providers,
  signers,
  rotation,
}: Pick<TrustDeps, 'db' | 'now' | 'providers'> & { signers: Signers; rotation: Rotation }) {
  const retire = async () => {
    const due = await db.acrossTenants((tx) => dueToRetire(tx, now()), background)
    const tenants = Map.groupBy(due, (key) => key.tenant_id)
    await eachTenant(tenants.keys(), async (tenant) => {
      for (const { signer_id } of tenants.get(tenant) ?? [])
        await signers.retireIfDue(jobSource(tenant, 'retire_signers'), signer_id)
    })
  }
  const renew = async () => {
    const madeBefore = new Date(now().getTime() - renewIssuingAfter)
    const due = await db.acrossTenants((tx) => activeIssuing(tx, madeBefore), background)
    await eachTenant(
      due.map((key) => key.tenant_id),
      (tenant) => rotation.renewIssuing(jobSource(tenant, 'renew_issuing_cas')),
    )
  }
  /** Destroys keys in the token after the commit that ended them. If the token is unavailable, the next run retries. */
  const destroy = async (): Promise<number> => {
    const token = providers.find((provider) => provider.destroy)
    const due = token ? await db.acrossTenants(dueToDestroy, background) : []
    for (const kid of due) {
      await token?.destroy?.(kid)
      await db.acrossTenants((tx) => forgetDestroyed(tx, kid), background)
    }
    return due.length
  }
  return [
    { name: 'destroy_token_keys', cron: '* * * * *', run: destroy },
    { name: 'retire_signers', cron: '25 * * * *', run: retire },
    { name: 'renew_issuing_cas', cron: '40 * * * *', run: renew },
  ]
}
