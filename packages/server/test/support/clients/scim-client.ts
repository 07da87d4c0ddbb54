import assert from 'node:assert/strict'
import { scimUrns } from '@holdfast/contract/scim-shapes'
import { type Raw, type Reached, send } from '../actors/all-callers.ts'
import type { Kit } from '../deployment/deployment.ts'

export type Scim = ReturnType<typeof scimWith>
type Sent = { headers?: Record<string, string>; on?: Reached }

/** SCIM as an identity provider speaks it. */
export function scimWith(kit: Reached, key: string) {
  const ask = (method: string, path: string, body?: unknown, { headers, on = kit }: Sent = {}): Promise<Raw> =>
    send(
      on,
      method,
      `/v1/scim/v2/${path}`,
      {
        authorization: `Bearer ${key}`,
        accept: 'application/scim+json',
        ...(body !== undefined && { 'content-type': 'application/scim+json; charset=utf-8' }),
        ...headers,
      },
      body === undefined ? undefined : JSON.stringify(body),
    )
  const filtered = (kind: 'Users' | 'Groups', filter: string, more = '') =>
    ask('GET', `${kind}?filter=${encodeURIComponent(filter)}${more}`)
  return {
    ask,
    get: (path: string, more?: Sent) => ask('GET', path, undefined, more),
    post: (path: string, body: unknown, more?: Sent) => ask('POST', path, body, more),
    put: (path: string, body: unknown, more?: Sent) => ask('PUT', path, body, more),
    delete: (path: string, more?: Sent) => ask('DELETE', path, undefined, more),
    /** Operations of PATCH, in its envelope. */
    patch: (path: string, Operations: readonly object[], more?: Sent) =>
      ask('PATCH', path, { schemas: [scimUrns.patch], Operations }, more),
    filtered,
    /** The ids that a filter finds. */
    idsOf: async (kind: 'Users' | 'Groups', filter: string): Promise<string[]> => {
      const { json } = await filtered(kind, filter, '&count=200')
      return (json.Resources as { id: string }[]).map((r) => r.id)
    },
  }
}

/** Creates the key of a directory, with a SCIM client. */
export async function provision(kit: Kit, directory = 'entra') {
  const { secret, api_key } = await kit.admin.createApiKey({
    body: { name: directory, role: 'tenant_admin', directory },
  })
  return { key: secret, key_id: api_key.key_id, scim: scimWith(kit, secret) }
}

export const scimUser = (name: string, more: object = {}) => ({
  schemas: [scimUrns.user],
  userName: name,
  externalId: `ext-${name}`,
  displayName: `The ${name}`,
  emails: [{ value: `${name}@example.com`, type: 'work', primary: true }],
  active: true,
  ...more,
})
export const scimGroup = (name: string, members: readonly string[] = []) => ({
  schemas: [scimUrns.group],
  displayName: name,
  externalId: `ext-${name}`,
  members: members.map((value) => ({ value })),
})

/** Creates users and returns their ids, in order. */
export async function pushed(scim: Scim, names: readonly string[], more: object = {}): Promise<string[]> {
  const ids: string[] = []
  for (const name of names) {
    const { status, json, text } = await scim.post('Users', scimUser(name, more))
    if (status !== 201) throw new Error(text)
    ids.push(String(json.id))
  }
  return ids
}
export const many = (n: number, name = 'person') => Array.from({ length: n }, (_, i) => `${name}${i}`)

export const resources = ({ json }: Raw) => json.Resources as Record<string, unknown>[]
/** Asserts a SCIM error answer with this status. */
export function says(answer: Raw, status: number, scimType?: string): void {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.headers['content-type'], 'application/scim+json; charset=utf-8')
  assert.deepEqual(answer.json.schemas, [scimUrns.error], answer.text)
  assert.equal(answer.json.status, String(status))
  assert.equal(answer.json.scimType, scimType, answer.text)
  assert.ok(answer.headers['x-request-id'])
}
