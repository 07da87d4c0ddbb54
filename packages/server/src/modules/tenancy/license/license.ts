import type { Database, Tx } from '../../../db/database.ts'
import { type Actor, jobSource, type Source, type TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import type { ExpiringObject } from '../../../kernel/expiring-object.ts'
import type { Audit } from '../../audit/index.ts'
import type { Notice, RaiseNotification } from '../../notifications/index.ts'
import * as queries from './license.queries.ts'
import { BadLicense, type LicenseFiles, type ReadLicense, readLicenseFile, requireFit } from './license-file.ts'
import { dateOf, graceEndOf } from './standing.ts'

/**
 * The license of the deployment: a file that is verified completely before it replaces the current one. The database
 * keeps the last good one, so that a lost or broken file has no effect. Every addition reads it there.
 */
export function createLicense(deps: {
  db: Database
  audit: Audit
  now: () => Date
  files: LicenseFiles | undefined
  notify: RaiseNotification
  log: { warn: (o: object, message: string) => void }
}) {
  const { db, audit, now, files, log, notify } = deps

  const noted = (tx: Tx, source: Source, edition: string, id?: string) =>
    audit.record(tx, source, 'license.reloaded', { edition, ...(id !== undefined && { license_id: id }) })

  /** False if it is already in force. */
  const take = (source: Source, { token, claims }: ReadLicense): Promise<boolean> =>
    db.inTenant(source.tenantId, async (tx) => {
      await queries.holdLicense(tx)
      const current = await queries.findLicense(tx)
      const { deployment_id: deploymentId, seen_at } = await queries.findDeployment(tx)
      const at = now() > seen_at ? now() : seen_at
      requireFit(claims, { at, deploymentId, current: current?.claims ?? null })
      const isNew = current?.token !== token
      if (isNew) {
        const good = { token, claims, issuedAt: dateOf(claims.iat), endsAt: graceEndOf(claims) }
        await queries.putLicense(tx, good, now())
      } else await queries.clearProblem(tx)
      if (isNew || source.type !== 'job') await noted(tx, source, claims.edition, claims.jti)
      return isNew
    })
  const dismiss = (source: Source): Promise<boolean> =>
    db.inTenant(source.tenantId, async (tx) => {
      await queries.holdLicense(tx)
      const isNew = (await queries.findLicense(tx)) !== undefined
      if (isNew) await queries.deleteLicense(tx)
      await noted(tx, source, 'community')
      return isNew
    })
  /** Stores the problem, and keeps the current license. */
  const complain = (source: Source, { message }: BadLicense): Promise<unknown> =>
    db.inTenant(source.tenantId, async (tx) => {
      await queries.holdLicense(tx)
      await queries.putProblem(tx, message, now())
      // An actor who requested the reload gets the error in the answer.
      if (source.type === 'job') await notify(tx, source.tenantId, problemOf(message))
    })

  return {
    /** Throws 422 if the file is refused. */
    reload: async (actor: Actor): Promise<boolean> => {
      try {
        return files ? await take(actor, await readLicenseFile(files)) : await dismiss(actor)
      } catch (e) {
        if (!(e instanceof BadLicense)) throw e
        await complain(actor, e)
        return failField('license', `the file was refused, and the previous license remains valid: ${e.message}`)
      }
    },

    /**
     * Loads the license at the start. A bad file does not prevent the start: the last good license stays in force, and
     * if there never was one, nothing can be added. Without a configured file the current license stays in force until
     * a reload.
     */
    load: async (tenant: TenantId): Promise<void> => {
      const source = jobSource(tenant, 'start')
      try {
        if (files) await take(source, await readLicenseFile(files))
        else if ((await db.inTenant(tenant, queries.findLicense))?.token === null) await dismiss(source)
      } catch (e) {
        if (!(e instanceof BadLicense)) throw e
        log.warn({ problem: e.message }, 'license file refused')
        await complain(source, e)
      }
    },

    /** Returns the end of the license and that of its grace period. */
    expiries: async (tenant: TenantId): Promise<ExpiringObject[]> => {
      const claims = (await db.inTenant(tenant, queries.findLicense))?.claims
      if (!claims) return []
      const of = { type: 'license', id: claims.jti, since: dateOf(claims.iat), renewal: 'by_hand' } as const
      const end = { ...of, name: claims.edition, expiresAt: dateOf(claims.exp) }
      const graceEnd = { ...of, name: `${claims.edition} with its grace period`, expiresAt: graceEndOf(claims) }
      return claims.grace_days > 0 ? [end, graceEnd] : [end]
    },

    read: (tenant: TenantId) =>
      db.inTenant(tenant, async (tx) => ({
        row: await queries.findLicense(tx),
        deployment: await queries.findDeployment(tx),
      })),
  }
}
const problemOf = (message: string): Notice => ({
  kind: 'license.problem',
  severity: 'critical',
  title: 'The license file was refused at a start of the server',
  detail: `${message}. The previous license remains valid. If there is none, nothing can be added. Correct the file, and load it with POST /v1/admin/license/reload.`,
  subject: { type: 'license', id: null, name: null },
  dedupe_key: `license.problem:${message}`,
})
export type LicenseRules = ReturnType<typeof createLicense>
