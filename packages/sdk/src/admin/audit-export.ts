import { createHash } from 'node:crypto'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import type { Contract, Output } from '@holdfast/contract'
import { canonicalJson } from '@holdfast/crypto/canonical'
import type { CallInput, Client } from '../client.ts'
import { ApiError, reject } from '../errors.ts'
import { isObject, readSigned } from '../verify/signed.ts'
import { keysOf, type SignedTrustSet } from '../verify/trust-store.ts'

/**
 * Description of an export, with its signature. With both and the trusted keys, a file can be verified without the
 * server.
 */
export type SignedAuditExportManifest = Output<Contract['getAuditExportManifest']>
type Signed = SignedAuditExportManifest
export type AuditExportManifest = Signed['manifest']
type Query = NonNullable<CallInput<Contract['exportAudit']>['query']>
export type AuditExportQuery = Omit<Query, 'format'> & { format: AuditExportManifest['format'] }
export type AuditExportOptions = {
  signal?: AbortSignal
  /** Called with the number of received bytes. */
  onProgress?: (received: number) => void
  /** Keys that verify the signature, if already known; otherwise they are fetched. */
  trust?: Pick<SignedTrustSet, 'jwks'>
}
type Exporter = Pick<Client, 'exportAudit' | 'exportAuditSyslog' | 'getAuditExportManifest' | 'trustAnchors'>

/** Limit in bytes, longer than any line of an export. */
const longestLine = 16 * 1024 * 1024
const newline = 0x0a

/**
 * Passes each piece of an export to `take` as it arrives. Returns its signed manifest once all of it is received and
 * verified. Throws `VerificationError` otherwise: `malformed` if the export ended before its manifest, `wrong_digest`
 * if the manifest describes other bytes. The caller must then discard the received pieces.
 */
export async function receiveAuditExport(
  client: Exporter,
  { format, ...filter }: AuditExportQuery,
  take: (bytes: Uint8Array) => Promise<void>,
  { signal, onProgress, trust }: AuditExportOptions = {},
): Promise<SignedAuditExportManifest> {
  const options = signal && { signal }
  const bytes =
    format === 'syslog'
      ? await client.exportAuditSyslog({ query: filter }, options)
      : await client.exportAudit({ query: { ...filter, format } }, options)
  const content = holdsManifest(format) ? allButLastLine() : all()
  let received = 0
  for await (const piece of bytes) {
    content.add(piece)
    await take(piece)
    received += piece.length
    onProgress?.(received)
  }
  const { bytes: size, sha256, lastLine } = content.end()
  const { manifest, jws } =
    lastLine === undefined ? await manifestOf(client, { ...filter, format, sha256 }) : readLastLine(lastLine, format)
  // Fetched last: the key of the manifest may be newer than the request.
  const keys = keysOf(trust ?? (await client.trustAnchors(scopeOf(filter))), 'audit-checkpoint')
  const signed = readSigned(jws, { typ: 'audit-export+jws', key: keys })
  if (!isObject(manifest) || canonicalJson(signed) !== canonicalJson(manifest))
    reject('wrong_digest', 'the manifest differs from the signed one')
  if (manifest.schema !== 'holdfast.audit-export/1') reject('malformed', 'the manifest has an unsupported version')
  if (manifest.format !== format || manifest.bytes !== size || manifest.sha256 !== sha256)
    reject('wrong_digest', 'the manifest belongs to another export')
  // Exports without events have the same bytes for every filter.
  if (canonicalJson(manifest.filter) !== canonicalJson(askedIn(filter)))
    reject('wrong_digest', 'the manifest belongs to an export with another filter')
  return { manifest, jws }
}

const holdsManifest = (format: AuditExportQuery['format']) => format === 'json' || format === 'ndjson'
/** Returns the path of the signed manifest for a format that can't contain it; undefined for other formats. */
export const auditManifestPath = (path: string, format: AuditExportQuery['format']): string | undefined =>
  holdsManifest(format) ? undefined : `${path}.manifest.json`

/**
 * Saves an export as a file, through `<path>.part`: afterwards `path` has the complete verified export, or its previous
 * content. For CSV and syslog the signed manifest is saved at `<path>.manifest.json`. Only one call at a time per path.
 */
export async function saveAuditExport(
  client: Exporter,
  query: AuditExportQuery,
  path: string,
  options: AuditExportOptions = {},
): Promise<SignedAuditExportManifest> {
  const part = `${path}.part`
  const beside = auditManifestPath(path, query.format)
  const handle = await open(part, 'w', 0o600)
  try {
    const signed = await receiveAuditExport(client, query, (piece) => handle.appendFile(piece), options)
    await handle.sync()
    await handle.close()
    // The manifest comes first, so that an export file is never without it.
    if (beside !== undefined) await place(beside, `${JSON.stringify(signed, null, 2)}\n`)
    await rename(part, path)
    return signed
  } catch (e) {
    await handle.close()
    await rm(part, { force: true })
    throw e
  }
}

async function place(path: string, text: string): Promise<void> {
  const part = `${path}.part`
  try {
    await writeFile(part, text, { mode: 0o600, flush: true })
    await rename(part, path)
  } catch (e) {
    await rm(part, { force: true })
    throw e
  }
}

/** Returns the filter in the form of a manifest. */
const askedIn = ({ tenant_id: _, ...filter }: Omit<AuditExportQuery, 'format'>) =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))

/** Returns the tenant for a platform role. */
const scopeOf = ({ tenant_id }: { tenant_id?: string }) => ({ query: tenant_id === undefined ? {} : { tenant_id } })

async function manifestOf(client: Exporter, query: AuditExportQuery & { sha256: string }): Promise<Signed> {
  try {
    return await client.getAuditExportManifest({ query })
  } catch (e) {
    if (!(e instanceof ApiError) || e.code !== 'not_found') throw e
    return reject('malformed', 'the export is incomplete: the connection was closed too early')
  }
}

function readLastLine(line: Buffer, format: string): Signed {
  const text = line.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(format === 'json' ? `{${text}` : text)
  } catch {
    value = undefined
  }
  const isSigned = isObject(value) && isObject(value.manifest) && typeof value.jws === 'string'
  return isSigned ? (value as Signed) : reject('malformed', 'the export is incomplete: its manifest is missing')
}

type Content = {
  add: (piece: Uint8Array) => void
  end: () => { bytes: number; sha256: string; lastLine: Buffer | undefined }
}
function all(): Content {
  const hash = createHash('sha256')
  let bytes = 0
  return {
    add: (piece) => {
      hash.update(piece)
      bytes += piece.length
    },
    end: () => ({ bytes, sha256: hash.digest('hex'), lastLine: undefined }),
  }
}

/** The last line is known only at the end of the bytes. */
function allButLastLine(): Content {
  const before = all()
  let line: Buffer = Buffer.alloc(0)
  return {
    add: (piece) => {
      line = line.length > 0 ? Buffer.concat([line, piece]) : Buffer.from(piece)
      const from = line.lastIndexOf(newline, line.length - 2) + 1
      if (line.length - from > longestLine) reject('malformed', 'a line of the export is too long')
      if (from > 0 && line.length > 1) {
        before.add(line.subarray(0, from))
        line = line.subarray(from)
      }
    },
    end: () => ({ ...before.end(), lastLine: line }),
  }
}
