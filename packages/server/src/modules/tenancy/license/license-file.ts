import { readFile } from 'node:fs/promises'
import { type LicenseClaims, LicenseError, readLicenseKeys, verifyLicense } from '@holdfast/crypto'
import { minute } from '../../../kernel/time.ts'
import { dateOf, graceEndOf } from './standing.ts'

/** Paths of the license and of the public keys of its issuers. */
export type LicenseFiles = { file: string; keysFile: string | undefined }
export type ReadLicense = { token: string; claims: LicenseClaims }

/** Reason why a license file is refused: a sentence for the operator. */
export class BadLicense extends Error {}

/** Throws `BadLicense`. Verifies the signature before it uses any content of the file. */
export async function readLicenseFile({ file, keysFile }: LicenseFiles): Promise<ReadLicense> {
  if (keysFile === undefined)
    throw new BadLicense(
      'HOLDFAST_LICENSE_KEYS_FILE is not set: set it to the file with the public keys of the license issuer',
    )
  const [keysText, token] = [
    await textOf(keysFile, 'HOLDFAST_LICENSE_KEYS_FILE'),
    await textOf(file, 'HOLDFAST_LICENSE_FILE'),
  ]
  try {
    return { token: token.trim(), claims: verifyLicense(token, readLicenseKeys(keysText)) }
  } catch (e) {
    if (e instanceof LicenseError) throw new BadLicense(e.message)
    throw e
  }
}

const textOf = (path: string, name: string): Promise<string> =>
  readFile(path, 'utf8').catch((e: NodeJS.ErrnoException) => {
    throw new BadLicense(`the file of ${name} cannot be read (${e.code ?? 'unknown error'})`)
  })

/** Tolerance for an issuer's clock that is ahead. */
const skewMs = 5 * minute

/**
 * Checks everything beyond the signature: the period, the deployment, and that the license is not older than the
 * current one. Throws `BadLicense`.
 */
export function requireFit(
  claims: LicenseClaims,
  { at, deploymentId, current }: { at: Date; deploymentId: string; current: Pick<LicenseClaims, 'iat' | 'jti'> | null },
): void {
  const said = (date: Date) => date.toISOString()
  if (claims.deployment_id !== undefined && claims.deployment_id !== deploymentId)
    throw new BadLicense(`the license is for another deployment; this one is ${deploymentId}`)
  if (dateOf(claims.iat).getTime() > at.getTime() + skewMs)
    throw new BadLicense(`the license was issued in the future, at ${said(dateOf(claims.iat))}: check the clocks`)
  if (dateOf(claims.nbf) > at) throw new BadLicense(`the license is not valid before ${said(dateOf(claims.nbf))}`)
  if (graceEndOf(claims) <= at)
    throw new BadLicense(
      `the license expired at ${said(dateOf(claims.exp))}, and its grace period of ${claims.grace_days} days is over`,
    )
  if (current && claims.iat < current.iat)
    throw new BadLicense(
      `the license was issued at ${said(dateOf(claims.iat))}, before the current license (${said(dateOf(current.iat))})`,
    )
  if (current && claims.iat === current.iat && claims.jti !== current.jti)
    throw new BadLicense(
      'the current license has the same time of issue: ask the issuer to issue the new license again',
    )
}
