import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Role, roleNames, roles } from '@holdfast/contract/vocabulary'
import { ApiError, type Client } from '@holdfast/sdk'
import { startKit } from '../deployment/deployment.ts'
import { enrollRaw } from './all-callers.ts'
import { makeUser, signInAs } from './people.ts'

/** True if the role `own` has every permission of the role `other`. */
export const covers = (own: Role, other: Role) =>
  own === 'platform_admin' ||
  (other !== 'platform_admin' && roles[other].every((p) => (roles[own] as readonly string[]).includes(p)))

/**
 * Tries every way from each role towards each role that it does not cover. With `oneIn`, each pair of roles tries only
 * one in that number of ways; the next pair tries the next ones.
 */
export async function takeWays(t: TestContext, oneIn = 1): Promise<void> {
  const kit = await startKit(t)
  const { admin } = kit
  const targets = await Promise.all(
    roleNames.map(async (role) => {
      const user_id = await makeUser(kit, `of-${role}`, [role])
      const { secret: token } = await admin.generateToken({ body: { user_id } })
      const device = await enrollRaw(kit, token)
      const person = await signInAs(kit, `of-${role}`)
      const { session_id } = (await person.get('/v1/admin/me')).json.session
      return { role, user_id, device_id: device.id, session_id }
    }),
  )
  const { secret: token } = await admin.generateToken({ body: {} })
  const { id: free } = await enrollRaw(kit, token)
  const nobody = await makeUser(kit, 'nobody')

  type Target = (typeof targets)[number]
  const ways: Record<string, (client: Client, to: Target) => Promise<unknown>> = {
    'a token for them': (c, { user_id }) => c.generateToken({ body: { user_id } }),
    'a device to them': (c, { user_id }) =>
      c.changeDevice({ body: { operation: 'update', device_id: free, device: { user_id } } }),
    'a device from them': (c, { device_id }) =>
      c.changeDevice({ body: { operation: 'update', device_id, device: { user_id: nobody } } }),
    'their password': (c, { user_id }) => c.changePassword({ body: { user_id, generate: true } }),
    'a factor for them': (c, { user_id }) => c.enrollTotp({ body: { user_id } }),
    'a code for their factor': (c, { user_id }) => c.verifyTotp({ body: { user_id, code: '123456' } }),
    'their factor': (c, { user_id }) => c.disableTotp({ body: { user_id } }),
    'their lock': (c, { user_id }) => c.unlockUser({ body: { user_id } }),
    'their lock, by lifecycle': (c, { user_id }) => c.changeUser({ body: { operation: 'unlock', user_id } }),
    'their mail address': (c, { user_id }) =>
      c.changeUser({ body: { operation: 'update', user_id, user: { email: 'mine@example.org' } } }),
    'their suspension': (c, { user_id }) => c.suspendUser({ body: { user_id } }),
    'their return': (c, { user_id }) => c.reactivateUser({ body: { user_id } }),
    'their end': (c, { user_id }) => c.changeUser({ body: { operation: 'delete', user_id } }),
    'their session': (c, { session_id }) => c.endAdminSession({ params: { session_id } }),
    'a role of theirs': (c, { user_id }) => c.grantRole({ body: { user_id, role: 'viewer' } }),
    'their role': (c, { user_id, role }) => c.revokeRole({ body: { user_id, role } }),
    'their role for another': (c, { role }) => c.grantRole({ body: { user_id: nobody, role } }),
    'a key of their role': (c, { role }) => c.createApiKey({ body: { name: 'key', role } }),
  }
  let refused = 0
  let pairs = 0
  const wrong: string[] = []
  for (const own of roleNames) {
    const client = await kit.as(own)
    for (const to of targets.filter(({ role }) => !covers(own, role))) {
      pairs++
      for (const [what, way] of Object.entries(ways).filter((_, nth) => (nth + pairs) % oneIn === 0)) {
        const status = await way(client, to).then(
          () => 200,
          (e) => (e instanceof ApiError ? e.status : 0),
        )
        if (status === 403) refused++
        else wrong.push(`${own} takes ${what} of ${to.role}: ${status}`)
      }
    }
  }
  assert.deepEqual(wrong, [])
  t.diagnostic(`${refused} refusals of ${Object.keys(ways).length} ways`)

  // Proves that the ways work: a caller with all permissions may take them.
  const last = targets.at(-1)!
  for (const what of ['a token for them', 'a device from them', 'a device to them', 'their password', 'their session'])
    await ways[what]!(admin, last)
}
