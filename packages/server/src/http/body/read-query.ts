import { exampleId, nounOfId } from '@holdfast/contract/schema'
import { aOrAn } from '@holdfast/contract/vocabulary'
import type { TSchema } from 'typebox'
import { AppError, fail } from '../../kernel/app-error.ts'
import { decodeId } from '../../kernel/ids.ts'
import { createValidator } from './validate.ts'

type Property = { type?: string; title?: string }

/** Throws 400 for invalid percent-encoding, instead of inserting replacement characters. */
export function requireReadableQuery(url: string): void {
  const mark = url.indexOf('?')
  if (mark < 0 || !url.includes('%', mark)) return
  try {
    decodeURIComponent(url.slice(mark))
  } catch {
    fail('bad_request', 'the query is not valid percent-encoded UTF-8')
  }
}

/**
 * Parses a query string by its schema: texts become the declared types. Throws 400 for an unknown, repeated or
 * unreadable parameter, and names it; also for an id in the wrong format. The handler decides about an id of nothing.
 * `ignoresUnknown`: unknown parameters are skipped.
 */
export function createQueryReader(
  schema: TSchema | undefined,
  { ignoresUnknown }: { ignoresUnknown: boolean },
): (search: string) => Record<string, unknown> {
  const properties = (schema as { properties?: Record<string, Property> } | undefined)?.properties ?? {}
  const validate = schema && createValidator(schema)
  return (search) => {
    const query: Record<string, unknown> = {}
    for (const [name, text] of search === '' ? [] : new URLSearchParams(search)) {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (!property && ignoresUnknown) continue
      if (!property) fail('bad_request', `${name.slice(0, 64)}: is not a parameter of this route`)
      if (text.includes('\0')) fail('bad_request', `${name}: contains the character NUL`)
      if (name in query) fail('bad_request', `${name}: is given twice`)
      requireIdForm(name, property, text)
      query[name] = convert(text, property.type)
    }
    try {
      validate?.(query)
    } catch (e) {
      if (e instanceof AppError) throw new AppError('bad_request', e.message, e.errors ? { errors: e.errors } : {})
      throw e
    }
    return query
  }
}

function requireIdForm(name: string, property: Property, text: string): void {
  const noun = nounOfId(property)
  if (noun !== undefined && decodeId(noun, text) === undefined)
    fail('bad_request', `${name}: is not the id of ${aOrAn(noun)}, such as ${exampleId(noun)}`)
}

function convert(text: string, type: string | undefined): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
