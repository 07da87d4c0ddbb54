import type { Handlers } from '../../../http/handlers.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { LicenseRules } from './license.ts'
import { dateOf, graceEndOf, licenseAt } from './standing.ts'

export function licenseHandlers({ license, now }: { license: LicenseRules; now: () => Date }) {
  const status = async (tenant: TenantId) => {
    const { row, deployment } = await license.read(tenant)
    const claims = row?.claims ?? null
    const at = now() > deployment.seen_at ? now() : deployment.seen_at
    const status = row ? licenseAt(claims, at) : undefined
    return {
      source: row ? ('file' as const) : ('community' as const),
      state: status?.state ?? ('active' as const),
      edition: status?.edition ?? 'community',
      license_id: claims?.jti ?? null,
      issuer: claims?.iss ?? null,
      customer: claims?.sub ?? null,
      issued_at: claims && dateOf(claims.iat).toISOString(),
      valid_from: claims && dateOf(claims.nbf).toISOString(),
      expires_at: claims && dateOf(claims.exp).toISOString(),
      grace_ends_at: claims && graceEndOf(claims).toISOString(),
      limits: claims?.limits ?? {},
      features: claims?.features ?? [],
      deployment_id: deployment.deployment_id,
      loaded_at: row?.loaded_at?.toISOString() ?? null,
      problem:
        row && row.problem !== null ? { detail: row.problem, at: (row.problem_at ?? now()).toISOString() } : null,
    }
  }

  return {
    getLicenseStatus: ({ actor }) => status(actor.tenantId),
    reloadLicense: async ({ actor }) => {
      const changed = await license.reload(actor)
      return { changed, license: await status(actor.tenantId) }
    },
  } satisfies Partial<Handlers>
}
