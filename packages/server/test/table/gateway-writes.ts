import assert from 'node:assert/strict'
import { examples } from '@holdfast/contract/examples'
import { changeGatewayPool } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { newWireguardKey } from '../support/actors/gateways.ts'
import { call, operation } from '../support/clients/api-calls.ts'
import type { Kit } from '../support/deployment/deployment.ts'
import type { Here } from './here.ts'

const now = () => new Date().toISOString()
const newSession = () => encodeId('vpn_session', crypto.randomUUID())

/** Keys are new, times are those of now, and a session that is terminated was started before. */
export const gatewayWrites = {
  heartbeat: (_: Kit, { callers }: Here) => ({ caller: callers.gateway, body: examples.heartbeat }),
  metering: (_: Kit, { callers, own }: Here) => {
    const [sample] = examples.metering.samples
    const { resources: _resources, ...used } = sample!
    const samples = [{ ...used, session_id: newSession(), device_id: own.ids.device_id }]
    const interval = { interval_start: now(), interval_end: now() }
    return { caller: callers.gateway, body: { ...examples.metering, ...interval, samples } }
  },
  ingestAuditEvents: (_: Kit, { callers }: Here) => ({ caller: callers.gateway, body: examples.ingestAuditEvents }),
  telemetry: (_: Kit, { callers }: Here) => ({
    caller: callers.device,
    body: { events: examples.telemetry.events.map((event) => ({ ...event, at: now() })) },
  }),
  reportPosture: (_: Kit, { callers }: Here) => ({ caller: callers.device, body: examples.reportPosture }),
  identifyGateway: (_: Kit, world: Here) => ({
    caller: world.callers.gateway,
    body: { ...examples.identifyGateway, public_key: newWireguardKey() },
  }),
  approveGateway: async (kit: Kit, world: Here) => {
    const { pool_id, gateway_id } = world.own.ids as { pool_id: string; gateway_id: string }
    const body = { public_key: newWireguardKey() }
    await changeGatewayPool(kit.admin, { params: { pool_id } }, { requires_approval: true })
    const announced = await call(kit, operation('identifyGateway'), world.callers.gateway, body)
    assert.equal(announced.json.approval, 'pending', announced.text)
    return { caller: world.callers.api_key, path: { gateway_id }, body }
  },
  deleteGatewayPool: async (kit: Kit, world: Here) => ({
    caller: world.callers.api_key,
    path: { pool_id: (await kit.admin.createGatewayPool({ body: { name: 'empty', region: { code: 'us' } } })).pool_id },
  }),
  terminateSessions: async (kit: Kit, world: Here) => {
    const at = new Date()
    const session_id = newSession()
    const sample = { session_id, device_id: world.own.ids.device_id, state: 'active', rx_bytes: 1, tx_bytes: 1 }
    const report = {
      report_id: 'r',
      boot_id: 'b',
      sequence: 1,
      interval_start: at.toISOString(),
      interval_end: at.toISOString(),
      samples: [sample],
    }
    const metered = await call(kit, operation('metering'), world.callers.gateway, report)
    assert.equal(metered.json.accepted, 1, metered.text)
    return { caller: world.callers.api_key, body: { operation: 'terminate', session_ids: [session_id] } }
  },
}
