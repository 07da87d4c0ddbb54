import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TenantId } from '../kernel/actor.ts'
import { type ChangeKind, everything, type Listener } from './changes.ts'
import { createCredentialCache } from './credential-cache.ts'

const tenant = randomUUID() as TenantId

function open() {
  let listener: Listener | undefined
  let loads = 0
  const cache = createCredentialCache<{ digest: Buffer; user: string }, { key: string; user: string }>({
    max: 100,
    changes: {
      listen: (_stage, given) => {
        listener = given
      },
    },
    feed: { isFresh: () => true, catchUp: async () => {}, onBeat: () => {} },
    load: async ({ user }) => {
      loads++
      return { key: `key-of-${user}`, user }
    },
    subjectsOf: ({ key, user }) => [`api_key:${key}`, `user:${user}`],
  })
  const ask = async (user: string) => cache.get({ digest: createHash('sha256').update(user).digest(), user })
  return {
    /** Returns the number of these users that were loaded again. */
    readAgain: async (...users: string[]): Promise<number> => {
      const before = loads
      for (const user of users) await ask(user)
      return loads - before
    },
    change: (kind: ChangeKind, subject: string) => listener?.changed(tenant, [{ kind, subject }]),
    forget: () => listener?.forgotten(undefined),
  }
}

test('a verified credential is cached until its user or API key changes', async () => {
  const { readAgain, change, forget } = open()
  assert.equal(await readAgain('jane', 'joe'), 2)
  assert.equal(await readAgain('jane', 'joe'), 0)
  for (const kind of ['policy', 'settings', 'trust', 'device'] as const) change(kind, everything)
  assert.equal(await readAgain('jane', 'joe'), 0, 'a publish costs no credential its place')
  change('user', 'jane')
  assert.equal(await readAgain('jane', 'joe'), 1)
  change('api_key', 'key-of-joe')
  assert.equal(await readAgain('jane', 'joe'), 1)
  for (const kind of ['user', 'api_key'] as const) {
    change(kind, everything)
    assert.equal(await readAgain('jane', 'joe'), 2, `everything of the kind ${kind}`)
  }
  forget()
  assert.equal(await readAgain('jane', 'joe'), 2)
})
