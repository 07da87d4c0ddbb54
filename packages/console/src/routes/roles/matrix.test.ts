import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areaRows, permissionsOf, type RoleRights, rolesWith } from './matrix.ts'

const roles: readonly RoleRights[] = [
  { role: 'operator', permissions: ['policy:read', 'devices:suspend', 'devices:write', 'devices:read'] },
  { role: 'viewer', permissions: ['devices:read'] },
]

test('the matrix has a row for each area, with the verbs of each role: read and write come first', () => {
  assert.deepEqual(
    areaRows(roles).map(({ area, verbs, byRole }) => [area, verbs, byRole.get('operator'), byRole.get('viewer')]),
    [
      ['devices', ['read', 'write', 'suspend'], ['read', 'write', 'suspend'], ['read']],
      ['policy', ['read'], ['read'], []],
    ],
  )
})

test('the roles with a permission are found, and each permission is listed once', () => {
  assert.deepEqual(
    rolesWith(roles, 'devices:read').map(({ role }) => role),
    ['operator', 'viewer'],
  )
  assert.deepEqual(permissionsOf(roles), ['devices:read', 'devices:suspend', 'devices:write', 'policy:read'])
})
