import { readFile } from 'node:fs/promises'
import type { Cli } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { readAll } from '../prompt.ts'

/** Reads a policy document from a file; `-` is stdin. */
export async function readDocument(cli: Cli, file: string): Promise<Record<string, unknown>> {
  const source = file === '-' ? 'stdin' : file
  let text: string
  try {
    // Editors on Windows begin a file with a byte order mark.
    text = (file === '-' ? await readAll(cli.input) : await readFile(file, 'utf8')).replace(/^\ufeff/, '')
  } catch (error) {
    throw new UsageError(`${source} can't be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${source} is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`${source} does not contain a JSON object.`)
  const twice = repeatedName(text)
  if (twice) throw new UsageError(`${source} has ${twice} twice in one object. Keep one of them.`)
  return value as Record<string, unknown>
}

/**
 * Returns a name that one object of a JSON text has twice, with its line. `JSON.parse` keeps only the last value, so
 * rules could get lost without an error.
 */
function repeatedName(text: string): string | null {
  /** The names of each open object, and null for each open list. */
  const open: (Set<string> | null)[] = []
  for (const { 0: token, 1: colon, index } of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[[\]{}]/g)) {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(null)
    else if (token === '}' || token === ']') open.pop()
    else if (colon !== undefined) {
      const name: string = JSON.parse(token.slice(0, -colon.length))
      const names = open.at(-1)
      if (names?.has(name)) return `the name ${JSON.stringify(name)} (line ${text.slice(0, index).split('\n').length})`
      names?.add(name)
    }
  }
  return null
}
