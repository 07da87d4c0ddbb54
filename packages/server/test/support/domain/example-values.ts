import { exampleId } from '@holdfast/contract/schema'
import { idPrefixes, type Noun } from '@holdfast/contract/vocabulary'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { branchesFor, propertySchema } from './answer-shapes.ts'

/** Plain items of a list, members of an open object, and its levels, that an example shows. Of objects it shows one. */
const [plainItems, openMembers, openLevels] = [2, 4, 3]
/** Longest text of an example. */
const longest = 300
const past = '2026-01-31T09:30:00.000Z'
const future = '2026-03-31T09:30:00.000Z'
const uuid = '0197fe36-3cb2-7d3a-8f27-d8a26e9c8d1f'
const requestId = '01a1ffc296a07c3e8a4e0d9f3c5b7e21'
/** SHA-256 of nothing. */
const sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const sha256Base64 = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
const token = 'eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl'

const nounOfPrefix = new Map(Object.entries(idPrefixes).map(([noun, prefix]) => [prefix as string, noun as Noun]))

/** Realistic names for those that tests make up. */
const names: Readonly<Record<string, string>> = {
  user: 'jane',
  group: 'engineering',
  locked: 'contractors',
  pool: 'frankfurt',
  gw: 'fra-1',
  plan: 'team',
  provider: 'Example login',
  directory: 'corp',
  corp: 'corp',
  client: 'holdfast-1.4.0.tar.gz',
  siem: 'security operations',
  view: 'Laptops without a report',
  tenant: 'acme',
  other: 'acme',
  renamed: 'renamed',
  program: 'backup-agent',
  new: 'new',
}

type Replacement = readonly [found: RegExp, by: string | ((...found: string[]) => string)]
const replacements: readonly Replacement[] = [
  // Credentials and tokens.
  [/\b(hf[a-z])_[\w.~-]+/g, (_, kind = '') => `${kind}_…`],
  [/\bwhsec_[\w+/=-]+/g, 'whsec_…'],
  [/\beyJ[\w-]+\.[\w-]*\.[\w-]+/g, token],
  [/\botpauth:\/\/\S+/g, 'otpauth://totp/Holdfast:jane?secret=…&issuer=Holdfast'],
  [/\bSAMLRequest=[^&]+/g, 'SAMLRequest=…'],
  [/\bRelayState=[^&]+/g, 'RelayState=…'],
  [/^(?:[0-9a-f]{4}-){7}[0-9a-f]{4}$/g, '0000-1111-2222-3333-4444-5555-6666-7777'],
  [
    /-----BEGIN ([A-Z ]+)-----[^-]+-----END [A-Z ]+-----/g,
    (_, kind = '') => `-----BEGIN ${kind}-----\n…\n-----END ${kind}-----`,
  ],
  // Names that contain ids.
  [/^(?:new|other)-usr_\w{26}$/g, 'jane@corp.example.com'],
  [/^(?:new|other) grp_\w{26}$/g, 'corp sales'],
  // Ids.
  [/\b([a-z]{3})_[0-7][0-9a-hjkmnp-tv-z]{25}\b/g, (whole = '', prefix = '') => idOf(prefix) ?? whole],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, uuid],
  // Digests and keys.
  [/\b[0-9a-f]{100,}\b/g, '3045'],
  [/\b[0-9a-f]{64}\b/g, sha256],
  [/\b[0-9a-f]{32}\b/g, requestId],
  [/\bCA [0-9a-f]{8}\b/g, 'CA 5fc27570'],
  [/(?<![\w+/])[\w+/]{43}=/g, sha256Base64],
  // The signed note of a checkpoint: its size, and its signature.
  [/(\/audit\/tnt_\w+\n)\d+\n/g, (_, origin = '') => `${origin}${figures.seq}\n`],
  [/(\n— \S+) \S+\n/g, (_, signer = '') => `${signer} …\n`],
  [/"[\w-]{16}\.[\w-]{16}"/g, '"Hx1Q2cVtY0a7sKfd.m3RzP8uLw5nEb9Ji"'],
  // Times.
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time = '') => timeOf(time)],
  [/\b\d+ seconds? ago\b/g, '5 seconds ago'],
  [/\b20\d\d-\d\d-\d\d\b(?!T)/g, past.slice(0, 10)],
  // Names and addresses of this test's deployment.
  [new RegExp(`\\b(${Object.keys(names).join('|')})-[0-9a-z]{6,40}\\b`, 'g'), (_, noun = '') => names[noun]!],
  [/\b[12]\.\d{3,9}\.\d{1,9}\b/g, '1.4.0'],
  [/https?:\/\/(?:holdfast\.test|127\.0\.0\.1:\d+|localhost:\d+)/g, 'https://vpn.example.com'],
  [/\bholdfast\.test\b/g, 'vpn.example.com'],
  [/\b127\.0\.0\.1\b/g, '192.0.2.10'],
  [/\bfd[0-9a-f]{2}:[0-9a-f]{1,4}:[0-9a-f]{1,4}::[0-9a-f]+/g, 'fd12:3456:789a::7'],
  [/^[0-9a-f]{12}$/g, '248289761001'],
  [/· \w{4}$/g, '· k3Xq'],
  [/^test platform_admin$/g, 'automation'],
  [/^for tests$/g, 'an account was phished'],
]

const idOf = (prefix: string): string | undefined => {
  const noun = nounOfPrefix.get(prefix)
  return noun && exampleId(noun)
}

/** Values that stand for keys, digests and certificates, in the order of preference. */
const stand = [
  sha256Base64,
  sha256Base64.replace(/=$/, '').replaceAll('+', '-').replaceAll('/', '_'),
  'HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=',
  sha256,
]

function timeOf(text: string): string {
  const at = Date.parse(text) > Date.now() + 1000 ? future : past
  return text.includes('.') ? at : at.replace('.000', '')
}

/** Figures that depend on the order and the duration of a test, by field. */
const figures: Readonly<Record<string, number>> = {
  ...{ seq: 1201, tree_size: 1201, up_to_seq: 1201, delivered_seq: 1200, events: 1200, rows: 1200, bytes: 480_000 },
  ...{ heartbeat_age_seconds: 5, age_seconds: 5, milliseconds: 12, length: 481 },
}
/** Texts of the same kind. */
const texts: Readonly<Record<string, string>> = { hint: 'k3Xq', next_cursor: 'WyJhbiIsImV4YW1wbGUiXQ.k3Xq' }
/** Values that a test may read before they are set. */
const later: Readonly<Record<string, string>> = { last_used_at: past }

function textOf(text: string, schema: TSchema | undefined): string {
  if ((schema as { title?: string } | undefined)?.title === 'Secret' && !/^(hf[a-z]_|whsec_)/.test(text))
    return /^[A-Z2-7]+$/.test(text) ? 'JBSWY3DPEHPK3PXP' : 'only-an-example'
  const replaced = replacements.reduce((t, [found, by]) => t.replace(found, by as string), text)
  const fits = (candidate: string) => !schema || Value.Check(schema, candidate)
  const opaque = /^(?:sha256:)?[\w+/-]{20,}={0,2}$/.test(replaced) && /\d/.test(replaced) && /[A-Z]/.test(replaced)
  if (opaque) return stand.find((candidate) => candidate.length <= replaced.length + 2 && fits(candidate)) ?? replaced
  if (!fits(replaced)) throw new Error(`${JSON.stringify(replaced)} does not fit ${JSON.stringify(schema)}`)
  const short = `${replaced.slice(0, longest)}…`
  return replaced.length > longest && fits(short) ? short : replaced
}

/**
 * Returns the example of a live answer: ids, times, secrets and names of the test have fixed values, and lists are cut.
 */
export function exampleOf(schema: TSchema | undefined, live: unknown, name = '', depth = 0): unknown {
  if (typeof live === 'number') return figures[name] ?? live
  if (typeof live === 'string') return texts[name] ?? textOf(live, schema && branchesFor(schema, live)[0])
  if (live === null) return later[name] ?? null
  if (typeof live !== 'object') return live
  const [branch] = schema ? branchesFor(schema, live) : []
  const { items, properties } = (branch ?? {}) as { items?: TSchema; properties?: object }
  // Of a part that the schema leaves open, only the outer levels are shown.
  const deeper = schema === undefined || Object.keys(schema).length === 0 ? depth + 1 : 0
  if (deeper > openLevels) return Array.isArray(live) ? [] : {}
  if (Array.isArray(live)) return fullest(live.map((item) => exampleOf(items, item, '', deeper)))
  const members = Object.entries(live).slice(0, properties ? undefined : openMembers)
  return Object.fromEntries(
    members.map(([name, value]) => [
      properties ? name : textOf(name, undefined),
      exampleOf(propertySchema(branch, name), value, name, deeper),
    ]),
  )
}

/** Returns the object of a list that has most values, because orders differ between runs; of other items the first. */
function fullest(list: readonly unknown[]): unknown[] {
  if (typeof list[0] !== 'object') return [...new Set(list)].slice(0, plainItems)
  const texts = new Map(list.map((item) => [item, JSON.stringify(item)]))
  const byText = (a: unknown, b: unknown) => (texts.get(a)! < texts.get(b)! ? -1 : 1)
  return list.toSorted((a, b) => valuesIn(b) - valuesIn(a) || byText(a, b)).slice(0, 1)
}
const valuesIn = (value: unknown): number => {
  if (typeof value !== 'object') return 1
  return value === null ? 0 : Object.values(value).reduce((n: number, inner) => n + valuesIn(inner), 0)
}
