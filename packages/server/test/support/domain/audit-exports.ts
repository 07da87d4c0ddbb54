import { createHash } from 'node:crypto'
import type { Contract, Output } from '@holdfast/contract'
import { algOf, canonicalJson, importPublic, parsePublicJwk, verifyJws } from '@holdfast/crypto'
import { request } from 'undici'
import type { Kit } from '../deployment/deployment.ts'

type Signed = Output<Contract['getAuditExportManifest']>
type Event = Record<string, unknown> & { seq: number; hash: string; kind: string }

export const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** The hash of an event as docs/audit-verify.md defines it, computed independently of the server. */
export function chainHash(before: string, { seq, hash: _, ...event }: Event): string {
  const place = Buffer.alloc(8)
  place.writeBigUInt64BE(BigInt(seq))
  return sha256(Buffer.concat([Buffer.of(0), Buffer.from(before, 'hex'), place, Buffer.from(canonicalJson(event))]))
}

/** Downloads an export, as curl would. */
export async function downloadExport(
  kit: Pick<Kit, 'publicUrl' | 'dispatcher' | 'adminKey'>,
  query: string,
  { path = '/v1/admin/audit/export', headers = {} }: { path?: string; headers?: Record<string, string> } = {},
) {
  const {
    statusCode,
    headers: answered,
    body,
  } = await request(`${kit.publicUrl}${path}?${query}`, {
    headers: { authorization: `Bearer ${kit.adminKey}`, ...headers },
    dispatcher: kit.dispatcher,
  })
  return { status: statusCode, headers: answered, text: Buffer.from(await body.arrayBuffer()).toString() }
}

/** Parses an NDJSON export. Its last line is the manifest. */
export function readNdjson(text: string): { events: Event[]; content: string; signed: Signed } {
  const end = text.lastIndexOf('\n', text.length - 2) + 1
  const content = text.slice(0, end)
  const events = content
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Event)
  return { events, content, signed: JSON.parse(text.slice(end)) as Signed }
}

/** Verifies the signature with the keys of the trust set, and returns the signed manifest. */
export async function signedManifest({ admin }: Pick<Kit, 'admin'>, { jws }: Signed): Promise<Signed['manifest']> {
  const { jwks } = await admin.trustAnchors()
  const { payload } = verifyJws(jws, {
    typ: 'audit-export+jws',
    key: (kid) => {
      const jwk = jwks.keys.find((k) => k.kid === kid && k.holdfast_purpose.includes('audit-checkpoint'))
      if (!jwk) return undefined
      const key = parsePublicJwk(jwk)
      return { publicKey: importPublic(key), alg: algOf(key) }
    },
  })
  return JSON.parse(payload.toString()) as Signed['manifest']
}
