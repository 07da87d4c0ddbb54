import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const described = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')

/** Of this program, as its package says it. */
export const version = (JSON.parse(described) as { version: string }).version
