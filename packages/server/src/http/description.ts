import { createHash } from 'node:crypto'
import { openapi } from '@holdfast/contract/openapi'
import { Representation } from '../kernel/representation.ts'

/** The contract as an OpenAPI document; made once. */
export function createDescription() {
  const bytes = Buffer.from(JSON.stringify(openapi()))
  const document = new Representation<ReturnType<typeof openapi>>(
    createHash('sha256').update(bytes).digest('base64url'),
    bytes,
  )
  return { handlers: { openapiDocument: () => document } }
}
