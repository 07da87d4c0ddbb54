import { createHash } from 'node:crypto'
import { openapi } from '@holdfast/contract/openapi'
import { Representation } from '../../kernel/results.ts'

type Document = ReturnType<typeof openapi>
let made: Representation<Document> | undefined

/** The contract as an OpenAPI document, created once per process. */
export function createDescription() {
  made ??= make()
  const document = made
  return { handlers: { openapiDocument: () => document } }
}

function make(): Representation<Document> {
  const bytes = Buffer.from(JSON.stringify(openapi()))
  return new Representation<Document>(createHash('sha256').update(bytes).digest('base64url'), bytes)
}
