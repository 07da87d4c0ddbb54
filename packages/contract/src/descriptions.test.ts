import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Endpoint, operations } from './index.ts'
import { openapi } from './openapi.ts'

const document = openapi()
type Json = Record<string, unknown>
const all = operations as readonly (readonly [string, Endpoint])[]

test('a summary is an imperative with its object, of at most 60 characters, and of one operation', () => {
  const summaries = all.map(([, e]) => e.summary)
  const verbs = new Set(summaries.map((summary) => summary.split(/[ ,]/, 1)[0]))
  assert.deepEqual([...verbs].sort(), [
    ...['Acknowledge', 'Activate', 'Announce', 'Apply', 'Approve', 'Begin', 'Cancel', 'Change', 'Check', 'Compare'],
    ...['Complete', 'Confirm', 'Count', 'Create', 'Delete', 'Dismiss', 'Download', 'Drain', 'End', 'Enroll', 'Explain'],
    ...['Export', 'Get', 'Grant', 'Issue', 'Link', 'List', 'Merge', 'Place', 'Prove', 'Publish', 'Reactivate'],
    ...[
      'Register',
      'Release',
      'Reload',
      'Remove',
      'Renew',
      'Replace',
      'Replay',
      'Report',
      'Retire',
      'Revoke',
      'Rotate',
      'Run',
    ],
    ...['Search', 'Send', 'Set', 'Sign', 'Simulate', 'Start', 'Stream', 'Suspend', 'Terminate', 'Test', 'Undo'],
    ...['Unlink', 'Unlock', 'Upload', 'Validate'],
  ])
  assert.deepEqual(
    summaries.filter((summary) => summary.length > 60 || !summary.includes(' ') || summary.endsWith('.')),
    [],
  )
  assert.deepEqual(
    summaries.filter((summary, i) => summaries.indexOf(summary) !== i),
    [],
  )
})

test('every parameter, header, response, tag and kind of credential has a description', () => {
  const without: string[] = []
  const require = (what: string, { description, $ref }: { description?: string; $ref?: string }) => {
    if ($ref === undefined && !/\w{3}/.test(description ?? '')) without.push(what)
  }
  const each = (what: string, named: object | undefined) => {
    for (const [name, one] of Object.entries(named ?? {})) require(`${what} ${name}`, one)
  }
  for (const kind of ['parameters', 'headers', 'responses', 'securitySchemes'])
    each(kind, document.components[kind] as Json)
  for (const tag of document.tags) require(`tag ${tag.name}`, tag)
  let parameters = 0
  for (const path of Object.values(document.paths))
    for (const operation of Object.values(
      path as Record<string, { operationId: string; parameters: Json[]; responses: Json }>,
    )) {
      for (const parameter of operation.parameters) {
        parameters++
        require(`${operation.operationId} ${parameter.name}`, parameter)
      }
      each(operation.operationId, operation.responses)
    }
  assert.deepEqual(without, [])
  assert.ok(parameters > 500)
})

/** Returns every description, with the position of its first use. */
function descriptions(): Map<string, string> {
  const found = new Map<string, string>()
  const walk = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, part] of Object.entries(value))
      if (name === 'description' && typeof part === 'string') found.set(part, found.get(part) ?? at)
      else if (name !== 'example' && name !== 'examples') walk(part, `${at}/${name}`)
  }
  walk(document, '')
  return found
}

/** Code and lists of names are no prose. */
const prose = (text: string): string =>
  text.replaceAll(/`[^`]*`/g, 'code').replaceAll(/(?:[\w.]+, ){5,}[\w.]+/g, 'names')
const sentencesOf = (text: string): string[] => prose(text).split(/(?<=[.!?])\s+|\n+/)
const wordsOf = (sentence: string): number => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length

test('a sentence of a description has at most 35 words, and 14 in the mean', () => {
  const lengths = [...descriptions()].flatMap(([text, at]) =>
    sentencesOf(text).map((sentence) => ({ at, sentence, words: wordsOf(sentence) })),
  )
  assert.deepEqual(
    lengths.filter(({ words }) => words > 35),
    [],
  )
  const mean = lengths.reduce((sum, { words }) => sum + words, 0) / lengths.length
  assert.ok(mean <= 14, `${mean} words`)
})

test('no sentence of a description begins with a question word', () => {
  const riddle = /^(?:who|whoever|what|whatever|how|why|whether)\b/i
  const found = [...descriptions()].flatMap(([text, at]) =>
    // The policy language has a vocabulary of its own.
    at.startsWith('/components/schemas/PolicyDocument') ? [] : sentencesOf(text).filter((s) => riddle.test(s)),
  )
  assert.deepEqual(found, [])
})
