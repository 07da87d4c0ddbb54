import { createHash } from 'node:crypto'
import { AppError, failField } from './app-error.ts'
import { Representation } from './results.ts'

const shortDigest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 16)

/** Version of a thing that a writer has seen. It must be checked under the lock of the row to change. */
export type ExpectedVersion = {
  /** Throws 422 if the writer named another version than this one. Undefined: the thing does not exist. */
  require: (version: unknown) => void
}

/**
 * A thing with the tag `"<version>.<content>"`. The version covers all fields that can be set; the content covers
 * everything shown, with measured and derived values. `If-None-Match` compares both, `If-Match` only the version: a
 * gateway that reports its load does not make a change of its name stale. `tagged` is the part of the content whose
 * change readers must see.
 */
export const versioned = <T>(version: unknown, content: T, tagged: unknown = content): Representation<T> =>
  new Representation(`${shortDigest(version)}.${shortDigest(tagged)}`, content)

/** Builds the expectation of a writer that names these tags. One of them must be current. */
export const expecting = (named: readonly string[] | '*' | undefined): ExpectedVersion => ({
  require: (version) => {
    if (named === undefined || (named === '*' && version !== undefined)) return
    const current = version === undefined ? undefined : shortDigest(version)
    if (named !== '*' && named.some((tag) => tag.split('.', 1)[0] === current)) return
    const message =
      current === undefined
        ? 'the object does not exist, so it cannot be changed'
        : `the object was changed meanwhile (current version: ${current}): read it again, then repeat the change`
    throw new AppError('validation_error', `If-Match: ${message}`, {
      errors: [{ field: 'If-Match', message }],
      isStale: true,
    })
  },
})

/** The expectation of a writer that names no version, where one is required. */
export const expectingSome: ExpectedVersion = {
  require: () =>
    failField('If-Match', 'is required: send the ETag of the version that you changed, or * to replace any version'),
}

/**
 * The content of a GET may be sent back by a PUT, even an old one: without If-Match the writer wants that state. So
 * only immutable fields are compared, and 422 names one that differs. Measured and derived fields are ignored.
 */
export function requireSame(current: object, given: object, names: readonly string[], at = ''): void {
  const [is, asGiven] = [new Map(Object.entries(current)), new Map(Object.entries(given))]
  const differing = names.find((name) => asGiven.has(name) && asGiven.get(name) !== is.get(name))
  if (differing === undefined) return
  failField(`${at}${differing}`, `cannot be changed; its value is ${JSON.stringify(is.get(differing))}`)
}
