import { hasControls, shortened } from '../../../kernel/text.ts'
import { canonicalEmail, longestUsername, newUsername } from '../../identity/index.ts'
import { attributeOf, emailParts, type Kind, nameParts, spelled, userKind } from './attributes.ts'
import { failScim } from './errors.ts'
import { truthOf } from './match.ts'

export type Email = { value: string; type?: string; primary?: boolean; display?: string }
export type PersonName = { [P in (typeof nameParts)[number]]?: string }
/** Stored attributes of a user, as they were sent. */
export type UserAttributes = {
  externalId?: string
  userName: string
  displayName?: string
  name?: PersonName
  emails?: Email[]
  active: boolean
}
type Draft = Partial<UserAttributes>

const mostEmails = 20
const longest = { externalId: 256, userName: longestUsername, displayName: 256, part: 256, email: 254, type: 64 }

const wrong = (name: string, what: string): never => failScim('invalidValue', `${name}: ${what}`)
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
/** Null and empty text mean no value (RFC 7643 §2.5). */
const isNothing = (value: unknown): boolean => value === null || value === undefined || value === ''

export function attributeText(name: string, value: unknown, max: number): string | undefined {
  if (isNothing(value)) return undefined
  if (typeof value !== 'string') return wrong(name, 'must be a string')
  if (hasControls(value, false))
    return wrong(name, 'must not contain control characters, line breaks or text-direction characters')
  return value.length <= max ? value : wrong(name, `must have at most ${max} characters`)
}

/** Members of an object under their canonical names. `parts`: the known names. */
function* partsOf(at: string, value: Record<string, unknown>, parts: readonly string[]): Generator<[string, unknown]> {
  for (const [written, its] of Object.entries(value)) {
    const part = spelled(written, parts)
    if (part !== undefined) yield [part, its]
    else if (written !== '$ref')
      failScim('invalidSyntax', `${at}: "${written.slice(0, 64)}" is not a known sub-attribute`)
  }
}

function nameOf(value: unknown, before: PersonName = {}): PersonName | undefined {
  if (isNothing(value)) return undefined
  if (!isObject(value)) return wrong('name', 'must be an object')
  const name: PersonName = { ...before }
  for (const [part, its] of partsOf('name', value, nameParts)) setPart(name, part, its)
  return Object.keys(name).length > 0 ? name : undefined
}
export function setPart(name: PersonName, part: string, value: unknown): void {
  const partText = attributeText(`name.${part}`, value, longest.part)
  const known = nameParts.find((p) => p === part)
  if (known === undefined) return
  if (partText === undefined) delete name[known]
  else name[known] = partText
}

/** Undefined for an entry without an address. */
export function emailOf(value: unknown): Email | undefined {
  if (!isObject(value)) return wrong('emails', 'must be a list of objects')
  const fields: Record<string, unknown> = {}
  for (const [part, its] of partsOf('emails', value, emailParts)) if (!isNothing(its)) fields[part] = its
  const address = attributeText('emails.value', fields.value, longest.email)
  if (address === undefined) return undefined
  const type = attributeText('emails.type', fields.type, longest.type)
  const display = attributeText('emails.display', fields.display, longest.part)
  const primary = fields.primary === undefined ? undefined : truthOf(fields.primary)
  if (fields.primary !== undefined && primary === undefined) wrong('emails.primary', 'must be true or false')
  return {
    value: address,
    ...(type !== undefined && { type }),
    ...(primary !== undefined && { primary }),
    ...(display !== undefined && { display }),
  }
}
export function emailsOf(value: unknown): Email[] {
  if (isNothing(value)) return []
  const list = Array.isArray(value) ? value : [value]
  if (list.length > mostEmails) wrong('emails', `must have at most ${mostEmails} entries`)
  return list.flatMap((item) => emailOf(item) ?? [])
}

/** Sets one attribute by its canonical name; null removes it. A single complex attribute keeps its other parts. */
export function setAttribute(draft: Draft, name: string, value: unknown): void {
  const put = <K extends keyof Draft>(key: K, its: Draft[K]) => {
    if (its === undefined) delete draft[key]
    else draft[key] = its
  }
  if (name === 'externalId') put('externalId', attributeText(name, value, longest.externalId))
  else if (name === 'userName') put('userName', attributeText(name, value, longest.userName))
  else if (name === 'displayName') put('displayName', attributeText(name, value, longest.displayName))
  else if (name === 'name') put('name', nameOf(value, draft.name))
  else if (name === 'emails') {
    const emails = emailsOf(value)
    put('emails', emails.length > 0 ? emails : undefined)
  } else if (name === 'active') {
    const active = truthOf(value) ?? wrong('active', 'must be true or false')
    put('active', active)
  }
}

/** Reads the attributes of a body. Throws 400 for an unknown one. */
export function* settableOf(kind: Kind, body: object): Generator<[name: string, value: unknown]> {
  const seen = new Set<string>()
  for (const [written, value] of Object.entries(body)) {
    const attribute = attributeOf(kind, written)
    if (!attribute) failScim('invalidSyntax', `"${written.slice(0, 64)}" is not a known attribute`)
    if (seen.has(attribute.name)) failScim('invalidSyntax', `${attribute.name.slice(0, 64)}: is given twice`)
    seen.add(attribute.name)
    if (attribute.is === 'settable') yield [attribute.name, value]
  }
}

export function readUser(
  body: object,
  otherwise: { externalId?: string | undefined; active: boolean },
): UserAttributes {
  const draft: Draft = {}
  for (const [name, value] of settableOf(userKind, body))
    if (name !== 'active' || value !== null) setAttribute(draft, name, value)
  const externalId = draft.externalId ?? otherwise.externalId
  return complete({ active: otherwise.active, ...draft, ...(externalId !== undefined && { externalId }) })
}

/** Checks required attributes. */
export function complete(draft: Draft): UserAttributes {
  const { userName, active = true, ...rest } = draft
  if (userName === undefined) return wrong('userName', 'is required')
  if ((rest.emails ?? []).filter((e) => e.primary).length > 1) wrong('emails', 'must have at most one primary entry')
  return { ...rest, userName, active }
}

/**
 * Columns derived from the attributes. `current`: the user's present username. The address is the primary one, else the
 * work address, else the first.
 */
export function storedUserFacts({ userName, displayName, name = {}, emails = [] }: UserAttributes, current?: string) {
  const { name: username, problem } = newUsername(userName, current)
  if (username === undefined) return wrong('userName', problem)
  const chosen = emails.find((e) => e.primary) ?? emails.find((e) => e.type?.toLowerCase() === 'work') ?? emails[0]
  const email = chosen === undefined ? null : addressOf(chosen.value)
  const fullName = [name.givenName, name.familyName].filter((part) => part !== undefined).join(' ')
  return { username, email, display_name: shortened(displayName ?? name.formatted ?? fullName, longest.displayName) }
}
const addressOf = (text: string): string => {
  const address = /^[^@\s]+@[^@\s]+$/.test(text) ? canonicalEmail(text) : undefined
  return address ?? wrong('emails', `"${text.slice(0, 64)}" is not a mail address`)
}
