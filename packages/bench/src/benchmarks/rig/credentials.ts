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

/** The device's own private key, with the thumbprint of its public key. */
export type DeviceKey = { privateKey: KeyObject; jkt: string }

export function makeDeviceKey(): DeviceKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { privateKey, jkt: thumbprint(parsePublicJwk(publicKey.export({ format: 'jwk' }))) }
}

/**
 * Opens the key that signs device credentials of the default tenant, with the server's master key from its data
 * directory. With it, devices that were inserted into the database directly get valid credentials.
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

/** Issues the credential that enrollment would return for this device, valid for a day. */
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
