import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { ParsedPage } from './parse-page.ts'

/** Target of a link: an address in the site or outside, or a file of the checkout that has no page. */
type Target = { href: string; isOutside?: true } | { file: string }

/** Finds the targets of links, and collects the broken ones. */
export type Links = {
  /** @param href as written in the document */
  resolve: (href: string, from: ParsedPage) => Target
  /** One line for each broken link. */
  broken: string[]
}

/** @param root folder of the checkout */
export function createLinks(root: string, pages: readonly ParsedPage[]): Links {
  const byFile = new Map(pages.map((page) => [page.file, page]))
  const broken: string[] = []

  function resolve(href: string, from: ParsedPage): Target {
    const refuse = (why: string): Target => {
      broken.push(`${from.file}: the link ${href} ${why}`)
      return { file: href }
    }
    if (/^(?:https:|mailto:)/.test(href)) return { href, isOutside: true }
    if (/^[a-z][a-z0-9+.-]*:|^\//i.test(href)) return refuse('is neither a path nor an address with https')
    const [path = '', anchor] = href.split('#')
    const file = path === '' ? from.file : posix.join(posix.dirname(from.file), path).replace(/\/$/, '')
    const page = byFile.get(file) ?? byFile.get(`${file}/README.md`)
    if (!page) return existsSync(join(root, file)) ? { file } : refuse('leads to no file')
    if (anchor !== undefined && !page.headings.some(({ id }) => id === anchor))
      return refuse(`leads to no heading of ${file}`)
    const address = page === from ? '' : relativeAddress(from.page, page.page)
    return { href: anchor === undefined ? address || posix.basename(page.page) : `${address}#${anchor}` }
  }
  return { resolve, broken }
}

/** Returns the address of a page as another page of the site writes it. */
export const relativeAddress = (from: string, to: string): string => posix.relative(posix.dirname(from), to)
