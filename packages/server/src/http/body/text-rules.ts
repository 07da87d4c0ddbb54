import { secretTexts, severalLines } from '@holdfast/contract/text-rules'
import { AppError } from '../../kernel/app-error.ts'
import { hasControls } from '../../kernel/text.ts'
import type { Sliced } from '../../kernel/time-slice.ts'

const lines = new Set(severalLines)
const secrets = new Set(secretTexts)
const textsAtOnce = 500

/**
 * Refuses control characters in the texts of a body and in names chosen by the caller: they can forge log lines, hide
 * parts of a name, or reverse its reading direction. 422 names the field.
 */
export function* refuseControls(body: unknown): Sliced<void> {
  let seen = 0
  function* inspect(value: unknown, name: string, path: string): Sliced<void> {
    if (typeof value === 'string') {
      if (!secrets.has(name) && hasControls(value, lines.has(name))) refuse(path, lines.has(name))
      if (++seen % textsAtOnce === 0) yield
    } else if (Array.isArray(value)) {
      for (const [i, item] of value.entries())
        if (typeof item === 'string' || typeof item === 'object') yield* inspect(item, name, `${path}[${i}]`)
    } else if (typeof value === 'object' && value !== null)
      for (const [key, part] of Object.entries(value)) {
        if (hasControls(key, false)) refuse(path, false)
        yield* inspect(part, key, path === '' ? key : `${path}.${key}`)
      }
  }
  yield* inspect(body, '', '')
}

/** Returns the caller's own texts in a body that also contains texts of others. */
export const ownTexts = (body: unknown): unknown =>
  Object.fromEntries(Object.entries(body ?? {}).filter(([, value]) => typeof value === 'string'))

function refuse(field: string, isOfLines: boolean): never {
  const message = isOfLines
    ? 'must not contain control characters other than line breaks and tabs'
    : 'must not contain control characters, line breaks or text-direction characters'
  throw new AppError('validation_error', `${field}: ${message}`, { errors: [{ field, message }] })
}
