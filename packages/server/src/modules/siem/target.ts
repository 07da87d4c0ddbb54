import { encodeId } from '../../kernel/ids.ts'
import type { ConnectorRow } from './connectors.queries.ts'

/** Returns a connector as audit events and notifications name it. */
export const connectorTarget = ({ connector_id, name }: Pick<ConnectorRow, 'connector_id' | 'name'>) => ({
  type: 'siem_connector',
  id: encodeId('siem_connector', connector_id),
  name,
})
