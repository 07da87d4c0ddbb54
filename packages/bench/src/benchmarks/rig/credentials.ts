import { generateKeyPairSync, hkdfSync, type KeyObject, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  issueDeviceCredential,
  openKek,
  type PrivateJwk,
  parsePublicJwk,
  type Signer,
  softwareSigner,
  thumbprint,
  unseal,
} from '@holdfast/crypto'
import type { Server } from './server.ts'
import { typeId } from './type-id.ts'

/** The device's own key: nothing but its holder can prove it. */
export type DeviceKey = { privateKey: KeyObject; jkt: string }

export function makeDeviceKey(): DeviceKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { privateKey, jkt: thumbprint(parsePublicJwk(publicKey.export({ format: 'jwk' }))) }
}

/**
 * Opens the key with which a server of ours signs the credentials of its default tenant: with its master key, which
 * lies in its data directory. So a hundred thousand devices that were put into the database can all ask.
 */
export async function openCredentialSigner(server: Server): Promise<Signer> {
  const master = Buffer.from(await readFile(join(server.dataDir, 'master.key'), 'utf8'), 'base64')
  const kek = openKek(new Uint8Array(hkdfSync('sha256', master, '', 'holdfast key encryption', 32)))
  const { rows } = await server.withDatabase((db) =>
    db.query<{ kid: string; private_jwe: string }>(
      `select kid, private_jwe from signing_keys join tenants using (tenant_id)
       where name = 'default' and purpose = 'credential' and state = 'active'`,
    ),
  )
  const [row] = rows
  if (!row) throw new Error('the tenant has no key for credentials')
  const opened = await unseal(kek, `signing_keys/${row.kid}/private_jwe`, row.private_jwe)
  return softwareSigner('credential', JSON.parse(opened.toString()) as PrivateJwk)
}

/** What enrollment would have answered for this device: good for a day. */
export async function mintCredential(
  signer: Signer,
  device: { server: Server; tenantId: string; deviceId: string; jkt: string | undefined },
): Promise<string> {
  const { url } = device.server
  const now = Math.floor(Date.now() / 1000)
  return issueDeviceCredential(signer, {
    iss: url,
    aud: [url, 'urn:holdfast:gateway'],
    sub: typeId('device', device.deviceId),
    jti: randomUUID(),
    iat: now,
    nbf: now,
    exp: now + 86_400,
    ...(device.jkt !== undefined && { cnf: { jkt: device.jkt } }),
    tid: typeId('tenant', device.tenantId),
    gen: 1,
    enr: 'token',
  })
}
