import type { Kit } from './kit.ts'

export const deliveryOf = async ({ admin }: Pick<Kit, 'admin'>, connector_id: string) =>
  (await admin.getSiemConnector({ params: { connector_id } })).delivery
