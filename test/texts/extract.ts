import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { createProgram } from '@holdfast/cli/program'
import type { Command } from 'commander'
import { parseSync } from 'vite'
import { proseOf, type Text } from './sentences.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** Returns the prose of every page that a person reads. */
export function textsOfDocuments(): Text[] {
  const pages = globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md', 'packages/server/src/**/README.md'], {
    cwd: root,
  })
  return pages.sort().flatMap((file) => proseOf(read(file)).map((text) => ({ place: file, text })))
}

/** Returns every summary and description of the API, once. */
export function textsOfApi(): Text[] {
  const texts = new Map<string, Text>()
  const walk = (value: unknown, place: string): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      if ((key === 'summary' || key === 'description') && typeof inner === 'string') {
        if (!texts.has(inner)) texts.set(inner, { place: `openapi${place}`, text: inner })
      } else if (key !== 'example' && key !== 'examples') walk(inner, `${place}/${key}`)
    }
  }
  walk(JSON.parse(read('openapi/holdfast.json')), '')
  return [...texts.values()]
}

/** Returns the descriptions of all commands, arguments and options, and the texts below their help. */
export function textsOfHelp(): Text[] {
  const { program } = createProgram({
    input: new PassThrough(),
    output: new PassThrough(),
    errors: new PassThrough(),
    env: {},
  })
  const walk = (command: Command, path: string): Text[] => [
    { place: path, text: command.description() },
    ...command.registeredArguments.map((argument) => ({ place: path, text: argument.description })),
    ...command.options.map((option) => ({ place: `${path} ${option.long}`, text: option.description })),
    ...command.commands.flatMap((child) => walk(child, `${path} ${child.name()}`)),
  ]
  return walk(program, 'holdfast').filter(({ text }) => text !== '')
}

type Node = { type: string; [key: string]: unknown }
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

/**
 * Returns the sentences in the sources: errors, output, labels, log lines, messages. Values inside a template are
 * written as {}.
 */
export function textsOfSources(): Text[] {
  const files = globSync('packages/{server,cli,policy,crypto,contract,sdk,console}/src/**/*.{ts,tsx}', {
    cwd: root,
    exclude: ['**/*.test.ts'],
  })
  return files.sort().flatMap((file) => {
    const source = read(file)
    const texts: Text[] = []
    const add = (text: string, start: number) => {
      const place = `${file}:${source.slice(0, start).split('\n').length}`
      for (const line of linesOf(text)) if (isSentence(line)) texts.push({ place, text: line })
    }
    const walk = (value: unknown): void => {
      if (Array.isArray(value)) for (const one of value) walk(one)
      if (!isNode(value) || isOfProgram(value)) return
      const start = Number(value.start)
      if (value.type === 'Literal' && typeof value.value === 'string') add(value.value, start)
      if (value.type === 'JSXText') add(String(value.value), start)
      if (value.type === 'TemplateLiteral') add(templateOf(value), start)
      for (const inner of Object.values(value)) walk(inner)
    }
    walk(parseSync(file, source).program)
    return texts
  })
}

/** Imports, types, SQL and patterns are for programs. */
const isOfProgram = ({ type, tag }: Node): boolean =>
  type === 'ImportDeclaration' ||
  (type.startsWith('TS') &&
    type !== 'TSAsExpression' &&
    type !== 'TSSatisfiesExpression' &&
    type !== 'TSNonNullExpression') ||
  (type === 'TaggedTemplateExpression' && isNode(tag) && /sql|css/i.test(JSON.stringify(tag)))

function templateOf({ quasis }: Node): string {
  return (quasis as { value: { cooked: string | null } }[]).map(({ value }) => value.cooked ?? '').join('{}')
}

/** Lines of help and elements of a page are texts of their own. */
const linesOf = (text: string): string[] => text.split(/\n|<[^>]*>/).map((line) => line.replaceAll(/\s+/g, ' ').trim())
const isSentence = (text: string): boolean =>
  (text.match(/\p{L}{2,}/gu) ?? []).length >= 3 &&
  /\p{L}{2,} \p{L}/u.test(text) &&
  !code.test(text) &&
  !statement.test(text.replace(/^(?:Update|Create|Delete|Set|Select|Lock|Grant|Revoke) /, ''))
/** Style sheets, shell scripts and drawings. */
const code = /\{[^}]|\$[\w?!(]|[;:]var\(|^[MmLl][\d. -]+/
const statement = /^(?:select|insert|update|delete|with|create|alter|drop|lock|set|grant|revoke) /i
