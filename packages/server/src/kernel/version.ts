import { createHash } from 'node:crypto'
import { AppError, failField } from './app-error.ts'
import { Representation } from './representation.ts'

const shortDigest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 16)

/** Which version of a thing a writer has seen. Rules ask it under the lock of the row that they are about to change. */
export type Expected = {
  /** 422 where the writer named another version than this one; nothing there is no version. */
  require: (version: unknown) => void
}

/**
 * A thing under the tag `"<version>.<content>"`. The version is all of it that is set; the content is everything that
 * is shown, with what is measured or follows from time. `If-None-Match` compares both, `If-Match` only the version: a
 * gateway that reports its load does not make a change of its name stale. `tagged` is the part of the content that a
 * reader is told of again.
 */
export const versioned = <T>(version: unknown, content: T, tagged: unknown = content): Representation<T> =>
  new Representation(`${shortDigest(version)}.${shortDigest(tagged)}`, content)

/** What a writer expects who names these tags, one of which must be current. */
export const expecting = (named: readonly string[] | '*' | undefined): Expected => ({
  require: (version) => {
    if (named === undefined || (named === '*' && version !== undefined)) return
    const current = version === undefined ? undefined : shortDigest(version)
    if (named !== '*' && named.some((tag) => tag.split('.', 1)[0] === current)) return
    const message = current === undefined ? 'there is nothing to change' : `the current version is ${current}`
    throw new AppError('validation_error', `If-Match: ${message}`, {
      errors: [{ field: 'If-Match', message }],
      isStale: true,
    })
  },
})

/**
 * A GET's content may be sent back with a PUT, also an older one: a writer who gives no If-Match wants it as it was
 * then. So only fields that stay the same for the life of a thing are compared, and 422 names one that differs. Fields
 * that are measured, or that follow from changes, are ignored.
 */
export function requireSame(current: object, given: object, names: readonly string[], at = ''): void {
  const [is, asGiven] = [new Map(Object.entries(current)), new Map(Object.entries(given))]
  const differing = names.find((name) => asGiven.has(name) && asGiven.get(name) !== is.get(name))
  if (differing === undefined) return
  failField(`${at}${differing}`, `can not be set; it is ${JSON.stringify(is.get(differing))}`)
}
