import type { SiemConnectorKind } from '@holdfast/contract/vocabulary'
import { type Kek, unseal } from '@holdfast/crypto'
import { failField } from '../../kernel/app-error.ts'
import { isWebhookSecret, webhookSecretFormat } from '../../outbound/standard-webhook.ts'
import type { ConnectorRow } from './connectors.queries.ts'
import type { SinkTarget } from './sinks/sink.ts'

/** Context for sealing. The previous credential has the same one, because it is moved unchanged. */
export const sealContext = (connectorId: string) => `siem_connectors/${connectorId}/credential_jwe`

const kindsWithCredential: readonly SiemConnectorKind[] = ['webhook', 'splunk_hec', 'opensearch']
export const takesCredential = (kind: SiemConnectorKind): boolean => kindsWithCredential.includes(kind)

/** Throws 422 if the credential does not fit this kind of connector. */
export function checkCredential(kind: SiemConnectorKind, credential: string): void {
  if (!takesCredential(kind)) failField('credential', `is not allowed for ${kind}`)
  if (kind === 'webhook' && !isWebhookSecret(credential)) failField('credential', `must be ${webhookSecretFormat}`)
  if (/[^\x20-\x7e]/.test(credential)) failField('credential', 'must be printable ASCII')
}

/** Returns the destination with the opened credential. */
export async function openTarget(kek: Kek, connector: ConnectorRow): Promise<SinkTarget> {
  const { connector_id, kind, format, destination, credential_jwe, previous_signs, previous_credential_jwe } = connector
  const opened = async (jwe: string | null) =>
    jwe === null ? undefined : (await unseal(kek, sealContext(connector_id), jwe)).toString()
  const previous = previous_signs ? await opened(previous_credential_jwe) : undefined
  return { kind, format, destination, credential: await opened(credential_jwe), previous }
}
