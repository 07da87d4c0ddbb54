import type { ScimPatch } from '@holdfast/contract/scim-shapes'
import { emailParts, type PatchTarget, readPath, userKind } from './attributes.ts'
import { failScim } from './errors.ts'
import { fitsElement, valuesSaid } from './match.ts'
import { operationsOf } from './patch.ts'
import {
  complete,
  type Email,
  emailOf,
  emailsOf,
  type PersonName,
  setAttribute,
  setPart,
  type UserAttributes,
} from './user-attributes.ts'

type Draft = Partial<UserAttributes>

/** Returns the user after these operations. The argument is not modified. */
export function patchUser(before: UserAttributes, patch: ScimPatch): UserAttributes {
  const draft: Draft = structuredClone(before)
  for (const { op, path, value } of operationsOf(userKind, patch)) {
    const target = readPath(userKind, path)
    if (target.is === 'ignored') continue
    if (target.is === 'readOnly') failScim('mutability', `${target.name}: is set by the server and cannot be changed`)
    if (op === 'remove') remove(draft, target)
    else set(draft, target, value, op)
  }
  return complete(draft)
}

function set(draft: Draft, target: PatchTarget, value: unknown, op: 'add' | 'replace'): void {
  const { name, filter, sub } = target
  if (name === 'name' && sub !== undefined) {
    const parts: PersonName = { ...draft.name }
    setPart(parts, sub, value)
    setAttribute(draft, 'name', null)
    setAttribute(draft, 'name', parts)
  } else if (name === 'emails' && (filter || sub !== undefined)) setEmails(draft, target, value, op)
  else if (name === 'emails' && op === 'add') {
    const added = emailsOf(value)
    keepEmails(draft, [...others(draft.emails ?? [], added), ...added], added)
  } else setAttribute(draft, name, value)
}

const others = (emails: readonly Email[], added: readonly Email[]) =>
  emails.filter((e) => !added.some((a) => a.value === e.value && a.type === e.type))

/** At most one address is primary: the one marked last (RFC 7644 §3.5.2). */
function keepEmails(draft: Draft, emails: readonly Email[], touched: readonly Email[]): void {
  const primary = touched.findLast((e) => e.primary)
  const kept = primary ? emails.map((e) => (e !== primary && e.primary ? { ...e, primary: false } : e)) : emails
  setAttribute(draft, 'emails', kept)
}

/**
 * Changes the addresses selected by the filter, or all. If none is selected and the filter prescribes values, a new
 * address is created.
 */
function setEmails(
  draft: Draft,
  { filter, sub }: Omit<PatchTarget, 'name' | 'is'>,
  value: unknown,
  op: 'add' | 'replace',
) {
  const emails = draft.emails ?? []
  const given = sub === undefined ? value : { [sub]: value }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    failScim('invalidValue', 'emails: must be an object')
  const chosen = new Set(emails.filter((e) => !filter || fitsElement(filter, e, emailParts)))
  if (chosen.size === 0) {
    const filterValues = filter ? valuesSaid(filter, emailParts) : {}
    const made = filterValues && emailOf({ ...filterValues, ...given })
    if (!made && op === 'replace' && sub === undefined) failScim('noTarget', 'path: no entry of emails matches')
    if (made) keepEmails(draft, [...emails, made], [made])
    return
  }
  const touched: Email[] = []
  const after = emails.flatMap((e): Email[] => {
    if (!chosen.has(e)) return [e]
    const changed = emailOf(sub === undefined && op === 'replace' ? given : { ...e, ...given })
    if (changed) touched.push(changed)
    return changed ? [changed] : []
  })
  keepEmails(draft, after, touched)
}

function remove(draft: Draft, { name, filter, sub }: PatchTarget): void {
  if (name === 'userName') failScim('mutability', 'userName: is required')
  if (name === 'active') setAttribute(draft, name, true)
  else if (name === 'name' && sub !== undefined) set(draft, { name, sub, is: 'settable' }, null, 'replace')
  else if (name === 'emails' && (filter || sub !== undefined)) {
    const fits = (e: Email) => !filter || fitsElement(filter, e, emailParts)
    const after = (draft.emails ?? []).flatMap((e) => {
      if (!fits(e)) return [e]
      return sub === undefined || sub === 'value' ? [] : (emailOf({ ...e, [sub]: null }) ?? [])
    })
    setAttribute(draft, 'emails', after)
  } else setAttribute(draft, name, null)
}
