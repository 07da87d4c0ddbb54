import { refuse } from '../errors.ts'

/** The characters that SPIFFE-ID §2.1 and §2.2 allow. */
const pathOfDevice = /^spiffe:\/\/([a-z0-9._-]{1,255})\/tenant\/([A-Za-z0-9_-]{1,64})\/device\/([A-Za-z0-9_-]{1,64})$/

/** `spiffe://<trust domain>/tenant/<id>/device/<id>`. Throws `malformed` for invalid parts. */
export function spiffeId(trustDomain: string, tenantId: string, deviceId: string): string {
  const id = `spiffe://${trustDomain}/tenant/${tenantId}/device/${deviceId}`
  return pathOfDevice.test(id) ? id : refuse('malformed', 'the parts do not form a valid SPIFFE ID')
}

/** Throws `malformed` for any text but the SPIFFE ID of a device. */
export function readSpiffeId(id: string): { tenantId: string; deviceId: string } {
  const [, , tenantId, deviceId] = pathOfDevice.exec(id) ?? []
  return tenantId && deviceId
    ? { tenantId, deviceId }
    : refuse('malformed', 'the text is not the SPIFFE ID of a device')
}
