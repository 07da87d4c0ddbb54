import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { encodeId } from '../../src/kernel/ids.ts'
import { loopbackAllowed, startKit } from '../support/deployment/deployment.ts'
import { startTenant } from '../support/deployment/tenants.ts'
import { until } from '../support/deployment/wait-until.ts'
import { isAllSent } from '../support/domain/siem-delivery.ts'
import {
  addNumberedEvents,
  eventsIn,
  numbersIn,
  type ReceivedEvent,
  startHttpReceiver,
  toWebhook,
} from '../support/providers/siem-receivers.ts'

test('many receivers of one replica', async (t) => {
  const deployment = await startKit(t, { config: loopbackAllowed })

  await t.test('a tenant has its share of concurrent deliveries, and slow receivers have half of them', async () => {
    let isHanging = false
    const hanging: ServerResponse[] = []
    const sink = await startHttpReceiver(deployment, (_, response) => {
      if (isHanging) hanging.push(response)
      else response.end()
    })
    const withMany = async (count: number) => {
      const kit = await startTenant(deployment)
      for (let i = 0; i < count; i++)
        await kit.admin.createSiemConnector({ body: toWebhook(sink.url, { name: `soc ${i}` }) })
      return kit
    }

    const many = await withMany(9)
    await until(() => isAllSent(many), 'their creation')
    isHanging = true
    await addNumberedEvents(many, 1)
    await until(() => hanging.length === 8, 'its share')
    // Two more looks.
    await delay(1200)
    assert.equal(hanging.length, 8)
    isHanging = false
    for (const response of hanging.splice(0)) response.end()
    await until(() => isAllSent(many), 'the ninth')

    const others = [many, await withMany(8), await withMany(8), await withMany(8)]
    for (const kit of others) await until(() => isAllSent(kit), 'their creation')
    isHanging = true
    await deployment.db.acrossTenants((tx) => tx.updateTable('siem_streams').set({ is_slow: true }).execute())
    for (const kit of others) await addNumberedEvents(kit, 1, 2)
    await until(() => hanging.length >= 16, 'half of what a replica sends at once')
    const quick = await startTenant(deployment)
    const taken: ReceivedEvent[] = []
    const other = await startHttpReceiver(deployment, (request, response) => {
      taken.push(...eventsIn(request))
      response.end()
    })
    await quick.admin.createSiemConnector({ body: toWebhook(other.url) })
    await until(() => taken.length > 0, 'the fast receiver')
    assert.ok(hanging.length < 32 && !hanging.some((response) => response.closed), `${hanging.length}`)
    isHanging = false
    for (const response of hanging.splice(0)) response.end()
    for (const kit of others) await until(() => isAllSent(kit), 'those who were slow')
  })

  await t.test('events of a tenant are forwarded until it is deleted', async () => {
    const kit = await startTenant(deployment)
    const taken: ReceivedEvent[] = []
    const sink = await startHttpReceiver(kit, (request, response) => {
      taken.push(...eventsIn(request))
      response.end()
    })
    await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    await until(() => isAllSent(kit), 'its creation')
    const tenant_id = encodeId('tenant', kit.tenant)
    await deployment.admin.changeTenant({ body: { operation: 'delete', tenant_id, delay_seconds: 3600 } })
    await addNumberedEvents(kit, 1)
    await until(() => numbersIn(taken).length === 1, 'events before the deletion')
    assert.ok(taken.some((e) => e.kind === 'tenant.changed'))
  })
})
