import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AppError } from '../../../kernel/app-error.ts'
import { checkCidrs } from './cidr.ts'

const fieldOf = (cidrs: string[]) => {
  try {
    checkCidrs('address_cidrs', cidrs)
    return undefined
  } catch (e) {
    return (e as AppError).errors?.[0]?.field
  }
}

test('networks of both families are taken, in any spelling of IPv6', () => {
  assert.equal(
    fieldOf(['10.8.0.0/16', '0.0.0.0/0', '10.0.0.1/32', 'fd00:8::/64', 'FD00:9:0:0::/64', '::/0']),
    undefined,
  )
})

for (const wrong of [
  '10.8.0.0',
  '10.8.0.0/33',
  '10.8.0.0/016',
  '010.8.0.0/16',
  '10.8/16',
  '10.8.0.1/16',
  'fd00::1/64',
  'fd00::/129',
  'fe80::%eth0/64',
  '10.8.0.0/16/1',
  '',
])
  test(`"${wrong}" is refused by its position`, () => {
    assert.equal(fieldOf(['10.0.0.0/8', wrong]), 'address_cidrs[1]')
  })

test('the same network twice is refused, however it is spelled', () => {
  assert.equal(fieldOf(['fd00:8::/64', 'FD00:8:0::/64']), 'address_cidrs[1]')
})
