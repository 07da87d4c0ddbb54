import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import type { TenantId } from '../../kernel/actor.ts'
import { addressCapacity, overlayAddressesOf } from './address.ts'

test('addresses are spelled by RFC 5952, and no two numbers share one', () => {
  const seen = new Map<string, string>()
  fc.assert(
    fc.property(fc.uuid(), fc.integer({ min: 1, max: addressCapacity }), (tenant, number) => {
      const { ipv4, ipv6 } = overlayAddressesOf(tenant as TenantId, number)
      assert.equal(ipaddr.parse(ipv6).kind(), 'ipv6')
      assert.equal(ipv6, (ipaddr.parse(ipv6) as ipaddr.IPv6).toRFC5952String())
      assert.ok(ipaddr.parse(ipv4).match(ipaddr.parseCIDR('100.64.0.0/10')))
      const whose = `${tenant} ${number}`
      assert.equal(seen.get(ipv6) ?? whose, whose)
      seen.set(ipv6, whose)
    }),
    { numRuns: 5000 },
  )
})
