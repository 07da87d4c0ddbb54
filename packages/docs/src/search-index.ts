import type { Tokens } from 'marked'
import MiniSearch from 'minisearch'
import { type ParsedPage, plainText } from './parse-page.ts'

/** A section of a page, as the search knows it. */
type Entry = { id: string; title: string; page: string; text: string }

const fields = ['title', 'page', 'text']
const storeFields = ['title', 'page', 'text']

/** Builds the index of all sections. The search of the pages loads it with the same options. */
export function buildSearchIndex(pages: readonly ParsedPage[]): string {
  const index = new MiniSearch<Entry>({ fields, storeFields })
  index.addAll(pages.flatMap(entriesOf))
  return JSON.stringify({ options: { fields, storeFields }, index })
}

/** Each heading starts a section. The identifier is the address from the first page of the site. */
function entriesOf({ page, title, tokens, headings }: ParsedPage): Entry[] {
  const entries: Entry[] = [{ id: page, title, page: title, text: '' }]
  for (const token of tokens) {
    const heading = headings.find((h) => h.token === token)
    if (heading && heading.depth > 1)
      entries.push({ id: `${page}#${heading.id}`, title: heading.text, page: title, text: '' })
    else if (!heading) {
      const entry = entries.at(-1)!
      entry.text = `${entry.text} ${plainText([token as Tokens.Generic])}`.replaceAll(/\s+/g, ' ').trim()
    }
  }
  return entries
}
