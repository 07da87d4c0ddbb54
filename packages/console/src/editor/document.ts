import {
  applyEdits,
  findNodeAtLocation,
  modify,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import type { Document } from '../policy/difference.ts'
import { textInside, textOf } from '../policy/text.ts'
import type { Path } from './schema.ts'

/** Problem at a place of the text; offsets count UTF-16 units. */
export type Problem = {
  from: number
  to: number
  severity: 'error' | 'warning'
  /** Place in the document: `rules[8].to[1]`. */
  field: string
  message: string
}
/** Text of a draft, read once. `document` is undefined while the text is not valid JSON. */
export type Parsed = {
  text: string
  tree: Node | undefined
  document: Document | undefined
  problems: readonly Problem[]
}

/** Levels of brackets that are read: parsers call themselves for each, and would exhaust the stack. */
const deepest = 200

/** Returns the place of the first bracket below this number of levels. */
function placeDeeperThan(text: string, levels: number): number | undefined {
  let depth = 0
  for (const { 0: found, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"?|[[{\]}]/g)) {
    if (found === '[' || found === '{') depth++
    else if (found === ']' || found === '}') depth--
    if (depth > levels) return index
  }
  return undefined
}

const strict = { disallowComments: true, allowTrailingComma: false } as const

/** Reads a text, and finds where it is not JSON. A repeated name is a problem too: a parser would lose one of them. */
export function parseText(text: string): Parsed {
  const tooDeep = placeDeeperThan(text, deepest)
  if (tooDeep !== undefined) {
    const message = `The text has more than ${deepest} levels of brackets.`
    const problem: Problem = { from: tooDeep, to: tooDeep + 1, severity: 'error', field: '', message }
    return { text, tree: undefined, document: undefined, problems: [problem] }
  }
  const errors: ParseError[] = []
  const tree = parseTree(text, errors, strict)
  const problems = errors.map(({ offset, length, error }): Problem => {
    const message = `Not valid JSON: ${wordsOf(printParseErrorCode(error))}.`
    return { from: offset, to: offset + Math.max(length, 1), severity: 'error', field: '', message }
  })
  if (tree) problems.push(...repeatedNames(tree))
  if (problems.length > 0) return { text, tree, document: undefined, problems }
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const message = 'A policy is a JSON object: { "schema": "holdfast.policy/1", "rules": [] }.'
    return { text, tree, document: undefined, problems: [{ from: 0, to: 1, severity: 'error', field: '', message }] }
  }
  return { text, tree, document: value as Document, problems }
}

/** @example wordsOf('CommaExpected') // 'comma expected' */
const wordsOf = (code: string) => code.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()

function repeatedNames(tree: Node): Problem[] {
  const found: Problem[] = []
  const walk = (node: Node, field: string) => {
    const names = new Set<string>()
    for (const [i, child] of (node.children ?? []).entries()) {
      if (node.type !== 'object') {
        walk(child, `${field}[${i}]`)
        continue
      }
      const [key, value] = child.children ?? []
      const name = String(key?.value)
      const at = field === '' ? name : `${field}.${name}`
      if (key && names.has(name)) {
        const message = `The name "${name}" is used twice here. Only one of them would count.`
        found.push({ from: key.offset, to: key.offset + key.length, severity: 'error', field: at, message })
      }
      names.add(name)
      if (value) walk(value, at)
    }
  }
  walk(tree, '')
  return found
}

/** Splits a field of the API into steps. @example pathOf('policy.rules[8].to[1]') // ['rules', 8, 'to', 1] */
export function pathOf(field: string): Path {
  const steps = field.matchAll(/\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.[\]]+)/g)
  const path = Array.from(steps, ([, index, quoted, name]) =>
    index === undefined ? (quoted ?? name ?? '') : Number(index),
  )
  return path[0] === 'policy' ? path.slice(1) : path
}

/** @example fieldOf(['rules', 8, 'to', 1]) // 'rules[8].to[1]' */
export const fieldOf = (path: Path): string =>
  path.map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`)).join('')

/** Returns the part of the text at a path, or at the nearest part around it that exists. */
export function rangeAt(tree: Node | undefined, path: Path): { from: number; to: number } {
  for (let length = path.length; tree && length >= 0; length--) {
    const node = findNodeAtLocation(tree, [...path.slice(0, length)])
    if (node) return { from: node.offset, to: node.offset + node.length }
  }
  return { from: 0, to: 0 }
}

/**
 * Changes one value of the text, and leaves all other characters as they are. Undefined removes the value.
 *
 * @example editText(text, ['rules', 0, 'action'], 'deny')
 */
export const editText = (text: string, path: Path, value: unknown): string => write(text, path, value, false)

/** Inserts a value into a list of the text before a place. */
export const insertText = (text: string, list: string, place: number, value: unknown): string =>
  write(text, [list, place], value, true)

function write(text: string, path: Path, value: unknown, isArrayInsertion: boolean): string {
  // jsonc-parser formats a new value over many lines, so it gets a placeholder first. The text has no such value.
  let mark = '\u0001'
  while (text.includes(JSON.stringify(mark))) mark += '\u0001'
  const steps = [...path]
  const isItem = typeof steps.at(-1) === 'number'
  const edits = modify(text, steps, value === undefined ? undefined : mark, {
    formattingOptions: { insertSpaces: true, tabSize: 2, eol: '\n' },
    isArrayInsertion,
  })
  const changed = applyEdits(text, edits)
  if (value === undefined) return changed
  const marked = JSON.stringify(mark)
  const at = changed.indexOf(marked)
  const indent = /^[ \t]*/.exec(changed.slice(changed.lastIndexOf('\n', at) + 1))?.[0] ?? ''
  const place = path.length === 1 ? 'field' : isItem && path.length === 2 ? 'item' : 'entry'
  const printed = textInside(value, place).replaceAll('\n', `\n${indent}`)
  return `${changed.slice(0, at)}${printed}${changed.slice(at + marked.length)}`
}

/** Moves an item of a list to another place. All items keep their text. */
export function moveIn(text: string, list: string, from: number, to: number): string {
  const tree = parseTree(text)
  const items = (tree && findNodeAtLocation(tree, [list])?.children) ?? []
  const texts = items.map(({ offset, length }) => text.slice(offset, offset + length))
  const moved = texts.toSpliced(from, 1).toSpliced(to, 0, ...texts.slice(from, from + 1))
  let now = text.slice(0, items[0]?.offset)
  for (const [i, { offset, length }] of items.entries())
    now += `${moved[i]}${text.slice(offset + length, items[i + 1]?.offset)}`
  return items.length === 0 ? text : now
}

/** Formats a text that is valid JSON; returns any other text as it is. */
export function formatText(text: string): string {
  const { document } = parseText(text)
  return document ? `${textOf(document)}\n` : text
}
