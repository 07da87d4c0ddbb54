import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A document of the checkout, and the page of the site that shows it. */
export type Source = {
  /** Path in the checkout, such as `docs/how-to/job.md`. */
  file: string
  /** Path in the site, such as `how-to/job.html`. */
  page: string
  text: string
}

/** Documents outside docs that have a page. */
const others: Readonly<Record<string, string>> = {
  'README.md': 'readme.html',
  'CHANGELOG.md': 'changelog.html',
  'packages/sdk/README.md': 'sdk.html',
}

/** Lists the documents of the site, as paths in the checkout. */
export const documentsOf = (root: string): string[] => [
  ...Object.keys(others),
  ...globSync('docs/**/*.md', { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .sort(),
]

/**
 * Reads the documents of the site.
 *
 * @throws Error if two documents have the same page
 */
export function readSources(root: string): Source[] {
  const sources = documentsOf(root).map((file) => ({
    file,
    page: pageOf(file),
    text: readFileSync(join(root, file), 'utf8'),
  }))
  const files = new Map<string, string>()
  for (const { file, page } of sources) {
    const first = files.get(page)
    if (first !== undefined) throw new Error(`${first} and ${file} have the same page ${page}: rename one of them`)
    files.set(page, file)
  }
  return sources
}

/** A README is the first page of its folder. */
const pageOf = (file: string): string =>
  others[file] ??
  file
    .replace(/^docs\//, '')
    .replace(/(^|\/)README\.md$/, '$1index.html')
    .replace(/\.md$/, '.html')
