import { createHash } from 'node:crypto'
import type { openapi } from '@holdfast/contract/openapi'
import { Representation } from '../../kernel/results.ts'

type Document = ReturnType<typeof openapi>
let made: Promise<Representation<Document>> | undefined

/** The contract as an OpenAPI document. The first request makes it, so that a start does not read its examples. */
export function createDescription() {
  return {
    handlers: {
      openapiDocument: () => {
        made ??= make().catch((error: unknown) => {
          made = undefined
          throw error
        })
        return made
      },
    },
  }
}

async function make(): Promise<Representation<Document>> {
  const { openapi } = await import('@holdfast/contract/openapi')
  const bytes = Buffer.from(JSON.stringify(openapi()))
  return new Representation<Document>(createHash('sha256').update(bytes).digest('base64url'), bytes)
}
