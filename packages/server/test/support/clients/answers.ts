import assert from 'node:assert/strict'
import { scimUrns } from '@holdfast/contract/scim-shapes'
import { errorStatus } from '@holdfast/contract/vocabulary'
import { ApiError } from '@holdfast/sdk'
import type { ApiAnswer } from './api-calls.ts'

/** The payload of a JWS, unverified. */
export const payloadOf = (jws: string) => JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString())

export const refused = (status: number, detail?: RegExp) => (e: unknown) => {
  assert.ok(e instanceof ApiError, String(e))
  assert.equal(e.status, status, e.message)
  if (detail) assert.match(`${e.message} ${JSON.stringify(e.errors ?? [])}`, detail)
  return true
}

/** The error code of a refusal and its request id, in any protocol. */
export function refusalIn({ status, json, headers }: ApiAnswer): { error: unknown; request_id: unknown } {
  const { error, request_id, schemas } = json
  if (JSON.stringify(schemas) !== JSON.stringify([scimUrns.error])) return { error, request_id }
  const [word] = Object.entries(errorStatus).find(([, its]) => String(its) === json.status) ?? [json.scimType]
  return { error: String(status) === json.status ? word : 'another status', request_id: headers['x-request-id'] }
}

export const statusesOf = (answers: { status: number }[]) => answers.map((a) => a.status)

export const countOf = <T>(list: readonly T[], wanted: T) => list.filter((x) => x === wanted).length
