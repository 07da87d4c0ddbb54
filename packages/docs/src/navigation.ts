import { posix } from 'node:path'
import type { Token, Tokens } from 'marked'
import { walkTokens } from 'marked'
import { type ParsedPage, plainText } from './parse-page.ts'

/** A page in the navigation. `children`: the pages of its folder that the map does not name. */
export type NavigationItem = { page: ParsedPage; label: string; children: readonly NavigationItem[] }
export type NavigationGroup = { label: string; items: readonly NavigationItem[] }

/** Page whose sections and links give the order: the map of the documents. */
export const mapPage = 'index.html'

/**
 * Builds the navigation from the map. Each section of the map is a group, and its links are the items. A page that the
 * map does not name is below the first page of its folder, or in the last group.
 */
export function buildNavigation(pages: readonly ParsedPage[]): NavigationGroup[] {
  const map = pages.find(({ page }) => page === mapPage)
  if (!map) throw new Error('docs/README.md is missing: its sections and links give the order of the navigation')
  const byFile = new Map(pages.map((page) => [page.file, page]))
  const named = new Set<ParsedPage>([map])
  const sections = sectionsOf(map.tokens).map(({ label, links }) => ({
    label,
    items: links.flatMap(({ href, text }) => {
      const page = byFile.get(posix.join(posix.dirname(map.file), href.split('#')[0] ?? ''))
      if (!page || named.has(page)) return []
      named.add(page)
      return [{ page, label: labelOf(page, text) }]
    }),
  }))
  const rest = pages.filter((page) => !named.has(page))
  const childrenOf = (parent: ParsedPage): NavigationItem[] => {
    const folder = posix.dirname(parent.page)
    const isFirst = folder !== '.' && posix.basename(parent.page) === 'index.html'
    return isFirst ? rest.filter(({ page }) => posix.dirname(page) === folder).map(itemOf) : []
  }
  const groups = sections
    .filter(({ items }) => items.length > 0)
    .map(({ label, items }) => ({
      label,
      items: items.map(({ page, label }) => ({ page, label, children: childrenOf(page) })),
    }))
  const placed = new Set(groups.flatMap(({ items }) => items.flatMap(({ children }) => children.map((c) => c.page))))
  const more = rest.filter((page) => !placed.has(page)).map(itemOf)
  return more.length > 0 ? [...groups, { label: 'More', items: more }] : groups
}

/** Returns all pages in the order of reading: the map, then each item and its children. */
export const inOrder = (groups: readonly NavigationGroup[], pages: readonly ParsedPage[]): ParsedPage[] => [
  ...pages.filter(({ page }) => page === mapPage),
  ...groups.flatMap(({ items }) => items.flatMap(({ page, children }) => [page, ...children.map((c) => c.page)])),
]

const itemOf = (page: ParsedPage): NavigationItem => ({ page, label: page.title, children: [] })

/** The text of a link is the label, unless it is a path. It begins with a capital letter. */
const labelOf = ({ title }: ParsedPage, text: string): string =>
  /[/]|\.md$/.test(text) ? title : text.charAt(0).toUpperCase() + text.slice(1)

type Section = { label: string; links: { href: string; text: string }[] }

function sectionsOf(tokens: readonly Token[]): Section[] {
  const sections: Section[] = []
  for (const token of tokens) {
    if (token.type === 'heading' && (token as Tokens.Heading).depth === 2)
      sections.push({ label: plainText([token]), links: [] })
    const section = sections.at(-1)
    if (section)
      walkTokens([token], (inner) => {
        if (inner.type === 'link')
          section.links.push({ href: (inner as Tokens.Link).href, text: plainText((inner as Tokens.Link).tokens) })
      })
  }
  return sections
}
