import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day, startControl } from '../../test/support/device-control-plane.ts'
import { contentFor, digestOf } from '../../test/support/issuer.ts'
import { ApiError, DeviceEndedError, type DevicePolicy, type DeviceStatus, type openDevice } from '../index.ts'

/** Runs the polling until `done` returns true for the received policies. */
async function poll(device: Awaited<ReturnType<typeof openDevice>>, done: (seen: (string | null)[]) => boolean) {
  const abort = new AbortController()
  const seen: (string | null)[] = []
  const errors: unknown[] = []
  const onPolicy = (policy: DevicePolicy | null) => {
    seen.push(policy?.content.rules[0]?.id ?? null)
    if (done(seen)) abort.abort()
  }
  await device.runPolling({ signal: abort.signal, onPolicy, onError: (error) => errors.push(error) })
  return { seen, errors }
}

test('polling brings each policy once, over a failure in between', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  let fails = 1
  control.instead['/v1/policy/bundle'] = ({ headers }) => {
    if (headers['if-none-match'] === undefined) return undefined
    if (fails-- > 0) return { status: 500, body: { error: 'internal_error', detail: 'x' } }
    control.content = contentFor('r2')
    control.seq = 2
    return undefined
  }
  const { seen, errors } = await poll(device, (all) => all.length === 2)
  assert.deepEqual(seen, ['r1', 'r2'])
  assert.equal(errors.length, 1)
})

test('a policy older than what is held is refused, borne for a moment, and told of when it stays so', {
  timeout: 20_000,
}, async (t) => {
  const control = await startControl(t)
  control.seq = 5
  const device = await control.enrollNow()
  let behind = 2
  let fetched = 0
  const answer = (id: string, seq: number) => {
    control.content = contentFor(id)
    control.seq = seq
    return undefined
  }
  control.instead['/v1/policy/bundle'] = () =>
    fetched++ === 0 ? undefined : behind-- > 0 ? answer('old', 4) : answer('r2', 6)
  control.instead['/v1/policy/digest'] = () => (behind > 0 && fetched > 0 ? answer('old', 4) : undefined)
  const statuses: string[] = []
  const seen: unknown[] = []
  const errors: unknown[] = []
  const stop = new AbortController()
  await device.runPolling({
    signal: stop.signal,
    onPolicy: (policy) => {
      seen.push(policy?.content.rules[0]?.id)
      if (policy?.content.rules[0]?.id === 'r2') behind = 100
    },
    onStatus: ({ status }) => statuses.push(status),
    onError: (e) => {
      errors.push(e)
      stop.abort()
    },
  })
  assert.deepEqual(seen, ['r1', 'r2'])
  assert.deepEqual(statuses, ['active', 'unreachable'])
  assert.deepEqual(
    errors.map((e) => (e as { code: string }).code),
    ['rollback'],
  )
  assert.equal(device.policy?.content.rules[0]?.id, 'r2', 'what is held stays in force')
})

test('polling renews when it is time', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  control.trust = await control.issuer.trustSet({ version: 2, expires_at: '2031-01-01T00:00:00Z' })
  control.clock.now = new Date(control.clock.now.getTime() + 21 * day)
  await poll(device, () => true)
  assert.equal(device.state.credential, 'cred-2')
  assert.equal(device.state.trust.version, 2)
})

/** Runs the polling. At each reported status, changes the control plane by the next step for it, until none is left. */
async function live(
  device: Awaited<ReturnType<typeof openDevice>>,
  story: Partial<Record<DeviceStatus['status'], (() => void)[]>>,
) {
  const stop = new AbortController()
  const seen: string[] = []
  const onStatus = ({ status, since, error }: DeviceStatus) => {
    seen.push(status)
    assert.ok(since instanceof Date)
    assert.equal(error instanceof Error, status !== 'active' && status !== 'pending')
    const next = story[status]?.shift()
    if (next) next()
    else stop.abort()
    throw new Error('what a watcher does is its own')
  }
  await device.runPolling({ signal: stop.signal, onPolicy: () => {}, onStatus, slow: 0.02 })
  return seen
}

test('approval, an outage, suspension and a refusal are lived through, each told once, without a restart', {
  timeout: 20_000,
}, async (t) => {
  const control = await startControl(t)
  control.content = { ...contentFor('r1'), settings: { poll_seconds: 0.02 } }
  const device = await control.enrollNow()
  control.standing = 'pending'
  const valid = control.credential
  let times = 0
  control.instead['/v1/policy/bundle'] = () => (control.standing === 'pending' && ++times === 2 ? approve() : undefined)
  const approve = () => {
    control.standing = 'active'
    return undefined
  }
  const { instead } = control
  const fail = (n: number) => {
    instead['/v1/policy/bundle'] = () => {
      if (n-- > 0) return { status: 500, body: { error: 'internal_error', detail: 'x' } }
      delete instead['/v1/policy/bundle']
      return undefined
    }
  }
  const seen = await live(device, {
    pending: [() => {}],
    active: [
      () => fail(1),
      () => {
        control.standing = 'suspended'
      },
      () => {
        control.credential = 'cred-9'
      },
    ],
    unreachable: [() => {}],
    suspended: [() => setTimeout(approve, 60)],
    refused: [
      () =>
        setTimeout(() => {
          control.credential = valid
        }, 60),
    ],
  })
  assert.deepEqual(seen, ['pending', 'active', 'unreachable', 'active', 'suspended', 'active', 'refused', 'active'])
  assert.equal(device.standing, 'active')
})

test('while it waits for approval no request is held for long', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  control.standing = 'pending'
  control.instead['/v1/policy/bundle'] = ({ headers }) => {
    if (headers.prefer === undefined) return undefined
    control.content = contentFor('r2')
    control.seq = 2
    return undefined
  }
  await poll(device, (all) => all.includes('r2'))
  assert.equal(control.asks('/v1/policy/bundle').at(-1)?.headers.prefer, 'wait=20')
})

test('only a definite end ends it, by name: revoked, or a credential that has expired', {
  timeout: 20_000,
}, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  control.standing = 'revoked'
  const ended = (code: string) => (e: unknown) => {
    assert.ok(e instanceof DeviceEndedError)
    assert.ok(e.cause instanceof ApiError)
    assert.equal(e.code, code)
    return true
  }
  await assert.rejects(live(device, {}), ended('revoked'))
  control.standing = 'active'
  control.credential = 'cred-9'
  const expire = () => {
    control.clock.now = new Date(device.expiresAt)
  }
  await assert.rejects(live(device, { refused: [expire] }), ended('credential_expired'))
})

test('the end of the last good policy is told', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const { expiresAt } = await device.fetchBundle()
  control.instead['/v1/policy/bundle'] = () => {
    control.clock.now = expiresAt
    return { status: 500, body: { error: 'internal_error', detail: 'x' } }
  }
  assert.deepEqual((await poll(device, (all) => all.includes(null))).seen, ['r1', null])
})

test('one request is held for as long as nothing changes and nothing else is due', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  let held = 0
  control.instead['/v1/policy/bundle'] = ({ headers }) => {
    if (headers['if-none-match'] === undefined) return undefined
    if (++held === 2) {
      control.content = contentFor('r2')
      control.seq = 2
    }
    return undefined
  }
  await poll(device, (all) => all.includes('r2'))
  const [first, ...later] = control.asks('/v1/policy/bundle')
  assert.equal(first?.headers.prefer, undefined)
  assert.deepEqual(
    later.map(({ headers }) => headers.prefer),
    ['wait=192', 'wait=192'],
  )
  assert.equal(control.asks('/v1/policy/digest').length, 1, 'the digest is asked for once, to confirm')
})

test('what could not be applied is told, and applied again', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const abort = new AbortController()
  const errors: unknown[] = []
  let tries = 0
  const onPolicy = () => {
    if (++tries === 1) throw new Error('nft is not there')
    abort.abort()
  }
  await device.runPolling({ signal: abort.signal, onPolicy, onError: (e) => errors.push(e) })
  assert.equal(tries, 2)
  assert.match(String(errors[0]), /nft is not there/)
})

test('the same content under a new tag is asked for by that tag from then on', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  await device.fetchBundle()
  let tag = 1
  control.instead['/v1/policy/bundle'] = async ({ headers }) => {
    const etag = `"tag-${tag}"`
    if (headers['if-none-match'] === etag) return { status: 304, headers: { etag } }
    const digest = digestOf(control.content)
    const pointer = await control.issuer.pointer({ digest, seq: 1 })
    const bundle = await control.issuer.bundle(control.content)
    return { headers: { etag }, body: { channel: 'stable', version: 1, seq: 1, digest, pointer, bundle } }
  }
  for (tag = 1; tag <= 2; tag++) {
    await device.fetchBundle()
    await device.fetchBundle()
    assert.equal(control.asks('/v1/policy/bundle').at(-1)?.headers['if-none-match'], `"tag-${tag}"`)
  }
})
