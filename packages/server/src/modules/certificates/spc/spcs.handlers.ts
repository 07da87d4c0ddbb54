import type { Contract, Output } from '@holdfast/contract'
import { spiffeId } from '@holdfast/crypto'
import { findNames, type Names } from '../../../db/names.ts'
import type { Handlers } from '../../../http/handlers.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { encodeId, idOf, missing } from '../../../kernel/ids.ts'
import { versioned } from '../../../kernel/version.ts'
import type { CertificatesDeps } from '../deps.ts'
import { serialOf } from '../serial.ts'
import { type Prepared, trustDomainOf } from './prepare.ts'
import type { SpcRow } from './spcs.queries.ts'
import type { Spcs } from './spcs.ts'
import { spcIdOf, type Validate } from './validate.ts'

export const spcHandlers = ({
  spcs,
  validate,
  db,
  trust,
  publicUrl,
  now,
}: Pick<CertificatesDeps, 'db' | 'trust' | 'publicUrl' | 'now'> & { spcs: Spcs; validate: Validate }) => {
  const trustDomain = trustDomainOf(publicUrl)
  const namesOf = (tenant: TenantId, rows: readonly SpcRow[]) =>
    db.inTenant(tenant, (tx) =>
      findNames(tx, tenant, { device: rows.map((r) => r.device_id), user: rows.map((r) => r.user_id) }),
    )
  const show = async (row: SpcRow) => view(row, await namesOf(row.tenant_id, [row]))
  const view = (row: SpcRow, names: Names): Output<Contract['revokeSpc']>['spc'] => {
    const tenant_id = encodeId('tenant', row.tenant_id)
    const device_id = encodeId('device', row.device_id)
    return {
      spc_id: encodeId('spc', row.spc_id),
      serial: serialOf(row.spc_id),
      tenant_id,
      device_id,
      device_name: names.of('device', row.device_id),
      user_id: row.user_id && encodeId('user', row.user_id),
      user_name: names.of('user', row.user_id),
      issuer_id: encodeId('signer', row.issuer_id),
      status: row.status !== 'revoked' && row.not_after <= now() ? 'expired' : row.status,
      not_before: row.not_before.toISOString(),
      not_after: row.not_after.toISOString(),
      renew_after: row.renew_after.toISOString(),
      spki_sha256: row.spki_sha256,
      fingerprint_sha256: row.fingerprint_sha256,
      spiffe_id: spiffeId(trustDomain, tenant_id, device_id),
      policy: policyOf(row),
      replaces: row.replaces && encodeId('spc', row.replaces),
      revoke_after: row.revoke_after?.toISOString() ?? null,
      revoked_at: row.revoked_at?.toISOString() ?? null,
      revocation_reason: row.revocation_reason,
      issued_at: row.issued_at.toISOString(),
    }
  }
  const viewIssued = async ({ row, chain }: Prepared): Promise<Output<Contract['issueSpc']>> => ({
    spc: await show(row),
    certificate: row.certificate,
    chain,
    trust_anchor_version: await trust.versionOf(row.tenant_id),
  })

  return {
    issueSpc: async ({ actor, body: { device_id, csr } }) =>
      viewIssued(await spcs.issue(actor, device_id === undefined ? undefined : idOf('device', device_id), csr)),
    rotateSpc: async ({ actor, body }) => viewIssued(await spcs.rotate(actor, spcNamed(body), body.csr)),
    revokeSpc: async ({ actor, body }) => {
      const { changed, spc } = await spcs.revoke(actor, spcNamed(body), body.reason ?? 'unspecified')
      return { changed, spc: await show(spc) }
    },
    validateSpc: async ({ actor, body: { certificate, at } }) => {
      const checkedAt = now()
      const judgedAt = at === undefined ? checkedAt : new Date(at)
      const { status, reasons, spc, userId, currentDigest } = await validate(actor.tenantId, certificate, judgedAt)
      const digest = spc?.policy ? `sha256:${spc.policy.digest}` : null
      return {
        valid: status === 'good' || status === 'superseded',
        status,
        reasons,
        spc: spc && {
          spc_id: spcIdOf(spc),
          serial: spc.serial,
          device_id: spc.deviceId,
          user_id: userId && encodeId('user', userId),
          not_before: spc.notBefore.toISOString(),
          not_after: spc.notAfter.toISOString(),
          spki_sha256: spc.spkiSha256,
          fingerprint_sha256: spc.fingerprintSha256,
        },
        policy: spc && { spc_digest: digest, current_digest: currentDigest, match: digest === currentDigest },
        checked_at: checkedAt.toISOString(),
      }
    },
    listSpcs: async ({ actor, query: { device_id, status, ...page } }) => {
      const filter = {
        ...(device_id !== undefined && { device_id: idOf('device', device_id) }),
        ...(status !== undefined && { status }),
      }
      const { items, next_cursor } = await spcs.list(actor.tenantId, filter, page)
      const names = await namesOf(actor.tenantId, items)
      return { items: items.map((row) => view(row, names)), next_cursor }
    },
    getSpc: async ({ actor, params }) => {
      const row = await spcs.get(actor.tenantId, idOf('spc', params.spc_id))
      const { certificate, ...shown } = { ...(await show(row)), certificate: row.certificate }
      return versioned(shown, { ...shown, certificate })
    },
  } satisfies Partial<Handlers>
}

const policyOf = ({ policy_channel, policy_version, policy_digest }: SpcRow) =>
  policy_channel !== null && policy_version !== null && policy_digest !== null
    ? { channel: policy_channel as 'canary' | 'stable', version: policy_version, digest: policy_digest }
    : null

/** Reads the certificate's ID from `spc_id` or from the serial number, which is the same value. */
function spcNamed({ spc_id, serial }: { spc_id?: string; serial?: string }): string {
  if ((spc_id === undefined) === (serial === undefined)) failField('spc_id', 'give either spc_id or serial')
  if (spc_id !== undefined) return idOf('spc', spc_id)
  const hex = (serial ?? '').toLowerCase().replaceAll(':', '')
  if (!/^[0-9a-f]{32}$/.test(hex)) return missing('spc')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
