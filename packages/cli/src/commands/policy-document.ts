import { readFile } from 'node:fs/promises'
import type { Cli } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { readAll } from '../prompt.ts'

/** Reads a policy document from a file; `-` is stdin. */
export async function readDocument(cli: Cli, file: string): Promise<Record<string, unknown>> {
  const source = file === '-' ? 'stdin' : file
  let text: string
  try {
    text = file === '-' ? await readAll(cli.input) : await readFile(file, 'utf8')
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
  return value as Record<string, unknown>
}
