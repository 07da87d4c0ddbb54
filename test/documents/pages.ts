import { accessSync, constants, globSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Block, type Page, readPage } from './page.ts'

const root = join(import.meta.dirname, '../..')
const only = process.env.HOLDFAST_TEST_PAGES?.split(',')

export const isCommand = ({ language, attributes }: Block) => language === 'sh' && attributes.file === undefined

/** The pages with commands, by name. `HOLDFAST_TEST_PAGES` names some of them. */
export const pages = globSync(['README.md', 'docs/**/*.md', 'packages/sdk/README.md'], { cwd: root })
  .filter((file) => only?.includes(file) ?? true)
  .sort()
  .map((file) => ({ file, page: pageOf(file) }))
  .filter(({ page }) => page.blocks.some(isCommand))

function pageOf(file: string): Page {
  try {
    return readPage(readFileSync(join(root, file), 'utf8'))
  } catch (error) {
    throw new Error(`${file}: ${String(error)}`)
  }
}

export const isRun = (page: Page) => !page.setups.includes('none')
const freshMachine = 'fresh-machine'
type Place = 'test' | 'interop' | 'fresh machine' | 'by hand'
/**
 * Where a block runs: in every test run; in the interop tests, since it needs a program; there too, on a new machine;
 * or nowhere.
 */
export function placeOf({ attributes }: Block): Place {
  if (attributes['by-hand'] !== undefined) return 'by hand'
  if (attributes.needs === freshMachine) return 'fresh machine'
  return attributes.needs === undefined ? 'test' : 'interop'
}
/** Programs that the blocks of a page need, by the names of `needs`. */
export const neededBy = (page: Page): string[] =>
  [...new Set(page.blocks.flatMap(({ attributes }) => attributes.needs?.split(',') ?? []))].filter(
    (name) => name !== freshMachine,
  )

/** Programs that pages may use without `needs`. Each may be missing, as `npm test` needs only Node and npm. */
const usual = ['bash', 'curl', 'openssl'] as const
/** A value for `skip` of the test of a page: false, or the missing programs. */
export function withoutUsual({ setups, blocks }: Page): string | false {
  const text = blocks
    .filter(isCommand)
    .map((block) => block.text)
    .join('\n')
  const isUsed = (name: string) =>
    name === 'bash' || new RegExp(`\\b${name}\\b`).test(text) || (name === 'openssl' && setups.includes('syslog'))
  const missing = usual.filter((name) => isUsed(name) && !isOnPath(name))
  return missing.length > 0 && `${missing.join(' and ')} not installed`
}

function isOnPath(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Pages whose configuration files another interop test runs, with that test. */
const covered: Readonly<Record<string, string>> = {
  'docs/deploy/proxy.md': 'packages/server/test/interop/guide-proxies.slow.test.ts',
}
export const isCovered = (file: string) => file in covered
