import GithubSlugger from 'github-slugger'
import { lexer, type Token, type Tokens, walkTokens } from 'marked'
import type { Source } from './sources.ts'

/** Heading of a page. Its anchor is the one that GitHub gives it. */
export type Heading = { id: string; depth: number; text: string; token: Token }

/** A document as tokens. Links are resolved when it is rendered. */
export type ParsedPage = Source & { title: string; headings: readonly Heading[]; tokens: Token[] }

/** @throws Error if the document has no title */
export function parsePage(source: Source): ParsedPage {
  const tokens = lexer(source.text)
  const slugger = new GithubSlugger()
  const headings: Heading[] = []
  walkTokens(tokens, (token) => {
    if (token.type !== 'heading') return
    const text = plainText([token])
    headings.push({ id: slugger.slug(text), depth: (token as Tokens.Heading).depth, text, token })
  })
  const title = headings.find(({ depth }) => depth === 1)?.text
  if (title === undefined)
    throw new Error(`${source.file} has no title: begin it with a line such as "# Forward events"`)
  return { ...source, title, headings, tokens }
}

/** Returns the text of tokens without marks and without raw HTML. */
export function plainText(tokens: readonly Token[]): string {
  return tokens.map(textOf).join('')
}

function textOf(token: Token): string {
  switch (token.type) {
    case 'html':
      return ''
    case 'br':
    case 'space':
      return ' '
    case 'list':
      return (token as Tokens.List).items.map((item) => `${plainText(item.tokens)} `).join('')
    case 'table': {
      const { header, rows } = token as Tokens.Table
      return [header, ...rows].map((row) => row.map((cell) => `${plainText(cell.tokens)} `).join('')).join('')
    }
    default: {
      const { tokens, text = '' } = token as { tokens?: Token[]; text?: string }
      return tokens ? plainText(tokens) : text
    }
  }
}
