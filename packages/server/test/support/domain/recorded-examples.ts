import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Endpoint, type Operation, operations } from '@holdfast/contract'
import { exemplaryStatuses } from '@holdfast/contract/openapi-operation'
import { type ApiAnswer, operation } from '../clients/api-calls.ts'
import { differences } from './answer-shapes.ts'
import { exampleOf } from './example-values.ts'

type Recorded = Record<string, Record<string, unknown>>

const folder = join(import.meta.dirname, '../../../../contract/src')

/**
 * Compares live answers with the examples of the API description. `UPDATE_GOLDEN=1` writes them from the answers. Each
 * part of the operations has its own file, because their tests run at the same time.
 */
export function createExampleCheck(part: 'reads' | 'writes') {
  const answers = new Map<string, Map<number, ApiAnswer>>()
  const covered = operations.filter(([, e]: readonly [string, Endpoint]) => (e.method === 'GET') === (part === 'reads'))
  return {
    /** Keeps the first answer of each success status, but rather one that reports a change. */
    note: (name: string, answer: ApiAnswer): void => {
      const known = answers.get(name) ?? new Map<number, ApiAnswer>()
      answers.set(name, known)
      const wanted: readonly number[] = exemplaryStatuses(operation(name as Operation))
      const before = known.get(answer.status)
      const isBetter = before === undefined || (changedNothing(before) && !changedNothing(answer))
      if (wanted.includes(answer.status) && isBetter) known.set(answer.status, answer)
    },
    /** Asserts that each operation has an example, and that the live answer has the shape of it. */
    assertExamples: (): void => {
      const file = join(folder, `response-examples-${part}.json`)
      if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, printed(record(covered, answers)))
      const recorded: Recorded = JSON.parse(readFileSync(file, 'utf8'))
      const wrong = covered.flatMap(([name, e]: readonly [string, Endpoint]) => {
        const given = answers.get(name)
        const missing = exemplaryStatuses(e).length > 0 && !given?.size ? [`${name}: no answer was seen`] : []
        return [
          ...missing,
          ...[...(given ?? [])].flatMap(([status, { json }]) => {
            const example = recorded[name]?.[status]
            if (example === undefined) return [`${name} ${status}: no example`]
            return differences(e.response, example, json, `${name} ${status}`)
          }),
        ]
      })
      assert.deepEqual(wrong, [], 'run with UPDATE_GOLDEN=1, and read the diff of the examples')
    },
  }
}

const changedNothing = ({ json }: ApiAnswer): boolean =>
  json.changed === false || (json.summary as { changed?: number } | undefined)?.changed === 0

const record = (
  covered: readonly (readonly [string, Endpoint])[],
  answers: ReadonlyMap<string, ReadonlyMap<number, ApiAnswer>>,
): Recorded =>
  Object.fromEntries(
    covered.flatMap(([name, e]) => {
      const given = [...(answers.get(name) ?? [])].sort(([a], [b]) => a - b)
      const examples = given.map(([status, { json }]) => [status, exampleOf(e.response, json)] as const)
      return examples.length > 0 ? [[name, Object.fromEntries(examples)]] : []
    }),
  )

/** One line for each answer, so that a diff names the operation. */
function printed(recorded: Recorded): string {
  const operations = Object.entries(recorded).map(([name, byStatus]) => {
    const lines = Object.entries(byStatus).map(([status, example]) => `    "${status}": ${JSON.stringify(example)}`)
    return `  "${name}": {\n${lines.join(',\n')}\n  }`
  })
  return `{\n${operations.join(',\n')}\n}\n`
}
