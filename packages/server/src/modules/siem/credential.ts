import { randomBytes } from 'node:crypto'
import type { SiemConnectorKind } from '@holdfast/contract/vocabulary'
import { failField } from '../../kernel/app-error.ts'
import { isWebhookSecret } from './sinks/webhook.ts'

export const sealContext = (connectorId: string) => `siem_connectors/${connectorId}/credential_jwe`

/** Standard Webhooks: 24 to 64 bytes, which are the key of the HMAC. */
export const mintWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

const taking: readonly SiemConnectorKind[] = ['webhook', 'splunk_hec', 'opensearch']
export const takesCredential = (kind: SiemConnectorKind): boolean => taking.includes(kind)

/** 422 where a credential can not be one of this kind. */
export function checkCredential(kind: SiemConnectorKind, credential: string): void {
  if (!takesCredential(kind)) failField('credential', `is not of ${kind}`)
  if (kind === 'webhook' && !isWebhookSecret(credential))
    failField('credential', 'must be whsec_ and the base64 of 24 to 64 bytes')
  if (/[^\x20-\x7e]/.test(credential)) failField('credential', 'must be printable ASCII')
}
