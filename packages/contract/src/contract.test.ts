import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Value } from 'typebox/value'
import { examples } from './examples.ts'
import { backchannelLogoutBase } from './federation-logout.ts'
import { contract, type Endpoint, operations } from './index.ts'
import { openapi } from './openapi.ts'
import { scimBase } from './scim-shapes.ts'

test('an endpoint whose permission depends on the operation has exactly one rule for each', () => {
  const wrong: string[] = []
  for (const [name, e] of operations) {
    const body = e.body as { properties?: { operation?: { enum?: string[] } } } | undefined
    const named = body?.properties?.operation?.enum ?? []
    const ruled = Object.keys(e.operations ?? {})
    const byOperation = e.access.by !== 'anyone' && e.access.permission === 'by_operation'
    if (byOperation !== ruled.length > 0) wrong.push(`${name}: by_operation and operations go together`)
    if (ruled.length > 0 && ruled.join() !== named.join())
      wrong.push(`${name}: rules for ${ruled}, body takes ${named}`)
  }
  assert.deepEqual(wrong, [])
})

test('every body has a valid example', () => {
  const wrong: string[] = []
  for (const [name, e] of operations) {
    if (!e.body || e.upload) continue
    const example = (examples as Record<string, unknown>)[name]
    if (!Value.Check(e.body, example)) wrong.push(`${name}: ${JSON.stringify(Value.Errors(e.body, example))}`)
  }
  assert.deepEqual(wrong, [])
})

type Shaped = { type?: unknown; additionalProperties?: unknown }
/** Returns every part of a schema that accepts an object, with its position. */
function objectsOf(schema: unknown, at: string): [at: string, schema: Shaped][] {
  if (typeof schema !== 'object' || schema === null) return []
  const inner = Object.entries(schema).flatMap(([name, part]) =>
    Array.isArray(part) ? part.flatMap((one) => objectsOf(one, at)) : objectsOf(part, `${at}.${name}`),
  )
  const shaped: Shaped = schema
  return shaped.type === 'object' ? [[at, shaped], ...inner] : inner
}

test('an unknown field of a body is refused at any depth', () => {
  const open = operations.flatMap(([name, e]) =>
    // RFC 7644 §3.3 and OIDC Back-Channel Logout 1.0 §2.5 require that unknown fields are ignored.
    e.upload || e.protocol
      ? []
      : objectsOf(e.body, name).flatMap(([at, s]) => (s.additionalProperties === false ? [] : [at])),
  )
  // Each of these is validated later by a schema of its own.
  assert.deepEqual(open, [
    'explainPolicy.properties.policy',
    'publishPolicy.properties.policy',
    'simulatePolicy.properties.policy',
    'validatePolicy.properties.policy',
    'whoReaches.properties.policy',
    'replayPolicy.properties.policy',
    'runPlaybook.properties.params',
    'runWorkflow.properties.params',
    'createView.properties.query',
    'updateView.properties.query',
  ])
})

type Walked = { title?: string; type?: unknown; properties?: Record<string, Walked>; items?: Walked; anyOf?: Walked[] }
/** Returns every named field of a schema, at any depth. */
const fieldsOf = (schema: Walked): [name: string, schema: Walked][] => [
  ...Object.entries(schema.properties ?? {}).flatMap(([name, inner]): [string, Walked][] => [
    [name, inner],
    ...fieldsOf(inner),
  ]),
  ...(schema.anyOf ?? []).flatMap(fieldsOf),
  ...(schema.items ? fieldsOf(schema.items) : []),
]
const isSecret = ({ title, anyOf = [] }: Walked): boolean => title === 'Secret' || anyOf.some(isSecret)

test('a secret is returned once, by the endpoint that creates it, in the field `secret`', () => {
  const found: Record<string, string[]> = {}
  for (const [name, e] of operations) {
    const secrets = fieldsOf(e.response as Walked).flatMap(([field, s]) => (isSecret(s) ? [field] : []))
    if (secrets.length > 0) found[name] = secrets
    const undescribed = fieldsOf(e.response as Walked).filter(
      ([field, s]) =>
        s.type === 'string' && !isSecret(s) && s.title !== 'PublicKey' && /(secret|password|token)$|^key$/.test(field),
    )
    assert.deepEqual(undescribed, [], name)
  }
  const one = ['secret']
  assert.deepEqual(found, {
    changeTenant: one,
    createSiemConnector: one,
    createApiKey: one,
    changePassword: one,
    enrollTotp: one,
    generateToken: one,
    createGateway: one,
    rotateGatewaySecret: one,
    updateNotificationSettings: one,
  })
})

test('a body sets an expiry in seconds within bounds, except in two named operations', () => {
  const asked = operations.flatMap(([name, e]) =>
    fieldsOf((e.body ?? {}) as Walked).flatMap(([field, schema]) => {
      const { minimum, maximum } = schema as { minimum?: number; maximum?: number }
      return /expire|valid_(for|until)|ttl/.test(field) && !('readOnly' in schema)
        ? [[name, field, minimum, maximum]]
        : []
    }),
  )
  assert.deepEqual(asked, [
    ['createApiKey', 'expires_in_seconds', 60, 63_072_000],
    ['generateToken', 'expires_in_seconds', 60, 7_776_000],
    // About the gateway's own certificate; it requests nothing.
    ['heartbeat', 'certificate_expires_at', undefined, undefined],
    // As TUF defines it.
    ['replaceTufRoot', 'expires', undefined, undefined],
    ['createLock', 'expires_in_seconds', 60, 7_776_000],
  ])
})

/** Exceptions: a POST to these lists does not add an item, but acts on the listed ones. */
const notAdded = ['runPlaybook', 'terminateSessions']
const isListed = (path: string): boolean =>
  operations.some(
    ([, e]) => e.method === 'GET' && e.path === path && 'items' in ((e.response as Walked).properties ?? {}),
  )
const isCreation = ([name, e]: (typeof operations)[number]): boolean =>
  e.method === 'POST' &&
  (/\.(created|enrolled|published|issued|placed|set|granted)$|^spc\.rotated$/.test(e.audit ?? '') ||
    (e.protocol === 'scim' && e.records !== 'refusals') ||
    (isListed(e.path) && !notAdded.includes(name)))

test('exactly the endpoints that create something answer 201', () => {
  const wrong = operations.flatMap(([name, e]) => {
    const creates = Object.entries(e.operations ?? {}).filter(
      ([o, { status }]) => (o === 'create') !== (status === 201),
    )
    return isCreation([name, e]) !== (e.status === 201) || creates.length > 0 ? [name] : []
  })
  assert.deepEqual(wrong, [])
})

test('a created object is returned as its list shows it, at the top level or under its noun', () => {
  const propertiesOf = (schema: unknown) => (schema as Walked).properties ?? {}
  const listed = new Set(
    operations.flatMap(([, e]) => propertiesOf(e.response).items?.items?.title ?? []).filter((title) => title !== ''),
  )
  // These return a device's credential, or a step towards one, which no list shows.
  const others = operations.filter(isCreation).flatMap(([name, e]) => {
    const { title = '' } = e.response as Walked
    const inside = Object.values(propertiesOf(e.response)).some((part) => listed.has(part.title ?? ''))
    return listed.has(title) || inside || e.protocol ? [] : [name]
  })
  assert.deepEqual(others, [
    'beginDeviceCode',
    'beginEnrollmentBySaml',
    'enroll',
    'enrollByDeviceCode',
    'enrollByOidc',
    'enrollBySaml',
  ])
})

test('a route named after a lifecycle operation has its permission, answer and If-Match', () => {
  const twins = operations.flatMap(([name, e]) =>
    Object.entries(e.operations ?? {}).flatMap(([operation, { permission }]) => {
      const twin = operations.find(([, t]) => t !== e && t.path === e.path.replace(/lifecycle$/, operation))
      if (!twin) return []
      const [its, t] = twin
      const same = t.response === e.response && t.ifMatch === e.ifMatch && t.audit === e.audit
      return [same && t.access.by !== 'anyone' && t.access.permission === permission ? its : `${its} is not ${name}`]
    }),
  )
  assert.deepEqual(twins, ['suspendUser', 'reactivateUser', 'unlockUser'])
})

test('next_cursor is returned exactly where limit and cursor are taken', () => {
  const wrong = operations.flatMap(([name, e]) => {
    const query = Object.keys((e.query as Walked | undefined)?.properties ?? {})
    const takes = query.includes('limit') && query.includes('cursor')
    const gives = 'next_cursor' in ((e.response as Walked).properties ?? {})
    return takes === gives || e.stream ? [] : [`${name}: takes ${takes}, gives ${gives}`]
  })
  assert.deepEqual(wrong, [])
})

test('fields that report the result of a write have one type in all answers', () => {
  const words = [
    'accepted',
    'duplicate',
    'rejected',
    'changed',
    'matched',
    'terminated',
    'sessions_terminated',
    'begun',
  ]
  const typesOf = (word: string) =>
    operations.flatMap(([, e]) => {
      const { [word]: said } = (e.response as Walked).properties ?? {}
      return e.method === 'GET' || !said ? [] : [said.type]
    })
  const found = words.map((word) => `${word}: ${[...new Set(typesOf(word))]}`)
  assert.deepEqual(found, [
    'accepted: integer',
    'duplicate: integer',
    'rejected: array',
    'changed: boolean',
    'matched: integer',
    'terminated: integer',
    'sessions_terminated: integer',
    'begun: boolean',
  ])
})

test('workflows and playbooks share the field names and answers of a run', () => {
  const { listWorkflows, listPlaybooks, runWorkflow, runPlaybook, changeWorkflowRun, changePlaybookRun } = contract
  const namesOf = (schema: unknown) => Object.keys((schema as Walked).properties ?? {}).filter((n) => n !== 'playbook')
  const pairs: [Endpoint, Endpoint][] = [
    [listWorkflows, listPlaybooks],
    [runWorkflow, runPlaybook],
    [changeWorkflowRun, changePlaybookRun],
  ]
  for (const [one, other] of pairs) {
    assert.deepEqual(other.response, one.response)
    assert.deepEqual([other.audit, other.method], [one.audit, one.method])
  }
  assert.deepEqual(namesOf(runPlaybook.body), namesOf(runWorkflow.body))
})

test('every English article fits its noun', () => {
  const wrong = /\b[Aa] (?:API|(?!one\b)[aeio]\w*)|\b[Aa]n (?:user|[bcdfgjkpqtvwz])\w*/g
  assert.deepEqual(JSON.stringify(openapi()).match(wrong) ?? [], [])
})

test('every path under /v1 requires a credential', () => {
  const open = operations.filter(([, e]) => e.access.by === 'anyone' && e.path.startsWith('/v1/'))
  assert.deepEqual(open, [])
})

test('exactly the SCIM and OAuth operations are under the base path of their protocol', () => {
  for (const [protocol, base] of [
    ['scim', scimBase],
    ['oauth', backchannelLogoutBase],
  ])
    assert.deepEqual(
      operations.filter(([, e]) => (e.protocol === protocol) !== e.path.startsWith(`${base}/`)),
      [],
    )
})

test('every posture verdict has the same three values', () => {
  const found: string[] = []
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return
    const words = (value as { enum?: unknown }).enum
    if (Array.isArray(words) && words.includes('non_compliant')) {
      found.push(path)
      assert.deepEqual(words, ['compliant', 'non_compliant', 'unknown'], path)
    }
    const { properties } = value as { properties?: object }
    if (properties && Object.hasOwn(properties, 'compliant'))
      assert.deepEqual(Object.keys(properties), ['compliant', 'non_compliant', 'unknown'], path)
    for (const [name, part] of Object.entries(value)) walk(part, `${path}.${name}`)
  }
  for (const [name, endpoint] of Object.entries(contract)) walk(endpoint, name)
  assert.ok(found.length >= 8, `the walk finds them: ${found.join(', ')}`)
})
