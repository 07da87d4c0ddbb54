import { hash } from 'node:crypto'
import type { AuditFields, AuditKind } from '@holdfast/contract/vocabulary'
import { anyText } from '@holdfast/crypto/test/any-text'
import fc from 'fast-check'
import type { Source } from '../../../src/kernel/actor.ts'
import { newUuid } from '../../../src/kernel/ids.ts'
import type { StoredEvent } from '../../../src/modules/audit/formats/event.ts'
import { arrivalOf } from '../../../src/modules/audit/record.ts'

/**
 * Strings that an attacker could put into a name to break out of the record. Every run tests each alone, and mixtures.
 */
export const attacks = [
  ...[
    '\r\n',
    '\n<13>1 2026-01-01T00:00:00Z evil su - - - forged',
    '<86>',
    '\u001b[2J\u001b[31m',
    '\0',
    '\u0085',
    '\u2028',
  ],
  ...[
    '\u2029',
    '\u007f',
    '\u009b',
    '\u202e',
    '\ufeff',
    '\u0007',
    '\v',
    '\f',
    '\u001c',
    '|',
    '\\',
    '\\|',
    '=',
    'a=b c=d',
  ],
  ...[
    ']',
    '"]',
    '\\"',
    '"',
    '""',
    "'",
    ',',
    ';',
    '","',
    '{',
    '}',
    '"}\n{"kind":"forged"}',
    '\\u000a',
    '𝒳',
    '\ud800',
    '%0a',
  ],
  ...[
    '=1+1',
    '+1',
    '-1',
    '@SUM(1)',
    '\t=1',
    '\r=1',
    ' =1',
    '\u00a0=1',
    '\u3000=1',
    '\0=1',
    '"=1',
    "'=1",
    ';=1',
    ', +1',
  ],
  ...['＝1', '＋1', '－1', '＠1', ';"＝1', "=cmd|' /C calc'!A0", '=HYPERLINK("http://x")', '\u200b=1', '\u001b=1'],
]
const hostile = fc.oneof(
  fc.constantFrom(...attacks),
  fc.array(fc.oneof(fc.constantFrom(...attacks), anyText({ maxLength: 4 })), { maxLength: 5 }).map((a) => a.join('')),
)

type Texts = { agent: string; name: string; target: string; username: string; detail: string }
export const texts: fc.Arbitrary<Texts> = fc.record({
  agent: hostile,
  name: hostile,
  target: hostile,
  username: hostile,
  detail: hostile,
})

const storedOf = (record: string, seq = 7): StoredEvent => ({ seq, hash: hash('sha256', `${seq}${record}`), record })

/** A failed sign-in as recorded, in which an attacker chose all these texts. */
export function hostileEvent({ agent, name, target, username, detail }: Texts): StoredEvent {
  const more = {
    outcome: 'failed' as const,
    target: { type: 'device', id: null, name: target },
    changes: { name: ['', target] as const },
    details: { error: 'unauthorized', detail, [detail]: [1, { of: detail }] },
  }
  return eventOf('login.failed', { username, failure_reason: detail }, { userAgent: agent, name, id: name }, more)
}

export function eventOf<K extends AuditKind>(
  kind: K,
  fields: AuditFields[K],
  from: Partial<Source> = {},
  more: Parameters<typeof arrivalOf>[3] = {},
): StoredEvent {
  const source: Source = {
    tenantId: newUuid() as Source['tenantId'],
    type: 'address',
    id: null,
    name: null,
    origin: 'console',
    sourceIp: '192.0.2.7',
    userAgent: null,
    requestId: 'r-1',
    claim: null,
    ...from,
  }
  return storedOf(arrivalOf(source, kind, fields, more, new Date('2026-01-31T09:30:00.250Z')).record)
}

/** Splits at every character that some reader takes for a line end. */
export const anyLines = (text: string): string[] => text.split(/\r\n|[\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/)
