import type { Contract, Given } from '@holdfast/contract'
import { type AuditKind, auditKinds } from '@holdfast/contract/audit-fields'
import { fail } from '../../../kernel/app-error.ts'
import { wordsOf } from '../words/words.ts'
import type { EventFilter } from './conditions.queries.ts'

type Query = Given<Contract['listAuditEvents']>['query']

export function filterOf(query: Query): EventFilter {
  const { limit: _, cursor: __, sort: ___, kind, from, to, text, ...others } = query
  const { operation, reason, username } = others
  const searchableValues = [operation, reason, username].filter(
    (value) => value !== undefined && wordsOf(value).length > 0,
  )
  const terms = [...(text === undefined ? [] : termsOf(text)), ...(searchableValues as string[])]
  return {
    ...others,
    ...(kind !== undefined && { kinds: kindsOf(kind) }),
    ...(from !== undefined && { from: instant('from', from) }),
    ...(to !== undefined && { to: instant('to', to) }),
    ...(terms.length > 0 && { terms }),
  }
}

/** `login.*,account.locked` → the matching kinds. */
function kindsOf(text: string): AuditKind[] {
  const kindNames = text.split(',').flatMap((name) => {
    const found = auditKinds.filter((kind) =>
      name.endsWith('.*') ? kind.startsWith(name.slice(0, -1)) : kind === name,
    )
    return found.length > 0 ? found : fail('bad_request', `kind: unknown kind ${name.slice(0, 64)}`)
  })
  return [...new Set(kindNames)]
}

/** The index holds words, so the text must contain one. */
const termsOf = (text: string): string[] =>
  wordsOf(text).length > 0
    ? text.split(/\s+/).filter(Boolean)
    : fail('bad_request', 'text: must contain at least one word')

/** RFC 3339 allows times that JavaScript cannot represent, such as a leap second. */
function instant(name: string, text: string): Date {
  const at = new Date(text)
  return Number.isNaN(at.getTime())
    ? fail('bad_request', `${name}: must be an RFC 3339 time that exists, such as 2026-01-31T09:30:00Z`)
    : at
}
