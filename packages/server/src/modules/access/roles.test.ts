import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Role, roleNames } from '@holdfast/contract/vocabulary'
import { type Actor, jobSource, type TenantId } from '../../kernel/actor.ts'
import { mayHandle, permissionsOfRoles } from './roles.ts'

const holding = (...roles: Role[]): Actor => {
  const tenantId = '00000000-0000-7000-8000-000000000001' as TenantId
  const permissions = permissionsOfRoles(roles)
  return {
    ...jobSource(tenantId, 'test'),
    sourceIp: '',
    requestId: '',
    principal: {
      kind: 'api_key',
      ownerId: null,
      standsForPerson: false,
      standsFor: [],
      directory: null,
      tenantId,
      id: '',
      name: '',
      roles,
      permissions,
    },
  }
}
const handled = (...held: Role[]) => roleNames.filter((role) => mayHandle(holding(...held), role))

test('a role can be handled only with all its permissions', () => {
  assert.deepEqual(handled('platform_admin'), roleNames)
  assert.deepEqual(
    handled('tenant_admin'),
    roleNames.filter((r) => r !== 'platform_admin'),
  )
  assert.deepEqual(handled('security_admin'), ['security_admin', 'auditor', 'viewer'])
  assert.deepEqual(handled('viewer'), ['viewer'])
  assert.deepEqual(handled(), [])
})

test('the permissions of two roles add up', () => {
  assert.ok(handled('operator', 'helpdesk').includes('helpdesk'))
  assert.ok(!handled('operator').includes('helpdesk'))
})
