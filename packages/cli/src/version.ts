import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const described = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')

/** Version of this program, from its package.json. */
export const version = (JSON.parse(described) as { version: string }).version
