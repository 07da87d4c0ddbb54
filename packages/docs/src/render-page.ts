import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import http from 'highlight.js/lib/languages/http'
import ini from 'highlight.js/lib/languages/ini'
import json from 'highlight.js/lib/languages/json'
import nginx from 'highlight.js/lib/languages/nginx'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import yaml from 'highlight.js/lib/languages/yaml'
import { Parser, Renderer, type Token, type Tokens } from 'marked'
import { escapeHtml } from './html.ts'
import type { Links } from './links.ts'
import { type Heading, type ParsedPage, plainText } from './parse-page.ts'

const languages = { bash, http, ini, json, nginx, python, sql, typescript, yaml }
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language)

/** Returns the content of a page as HTML. Problems of its links are in `links.broken`. */
export function renderContent(page: ParsedPage, links: Links): string {
  const parser = new Parser({ renderer: new PageRenderer(page, links) })
  return parser.parse(page.tokens)
}

/** Renders headings with anchors, code with classes, and links as addresses of the site. No HTML of a document. */
class PageRenderer extends Renderer {
  readonly #page: ParsedPage
  readonly #links: Links
  readonly #headings: ReadonlyMap<Token, Heading>

  constructor(page: ParsedPage, links: Links) {
    super()
    this.#page = page
    this.#links = links
    this.#headings = new Map(page.headings.map((heading) => [heading.token, heading]))
  }

  override heading(token: Tokens.Heading): string {
    const { id } = this.#headings.get(token)!
    const content = this.parser.parseInline(token.tokens)
    const isTitle = token.depth === 1
    // A link inside a link is no HTML.
    const linked = isTitle || content.includes('<a ') ? content : `<a class="anchor" href="#${id}">${content}</a>`
    return `<h${token.depth} id="${id}">${linked}</h${token.depth}>\n`
  }

  override code({ text, lang = '' }: Tokens.Code): string {
    // The words after the language are for the runner of the examples.
    const [language = ''] = lang.split(/\s/)
    const isKnown = hljs.getLanguage(language) !== undefined
    const content = isKnown ? hljs.highlight(text, { language }).value : escapeHtml(text)
    // A long line scrolls, which the keyboard can do only where it can set the focus.
    return `<pre tabindex="0"><code${isKnown ? ' class="hljs"' : ''}>${content}</code></pre>\n`
  }

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    return escapeHtml(text.replaceAll(/<!--[\s\S]*?-->/g, '').trim())
  }

  override link({ href, title, tokens }: Tokens.Link): string {
    const target = this.#links.resolve(href, this.#page)
    const content = this.parser.parseInline(tokens)
    if ('href' in target) {
      const attributes = [
        `href="${escapeHtml(target.href)}"`,
        ...(title ? [`title="${escapeHtml(title)}"`] : []),
        ...(target.isOutside ? ['rel="noreferrer"'] : []),
      ]
      return `<a ${attributes.join(' ')}>${content}</a>`
    }
    const text = plainText(tokens)
    if (!target.file.endsWith(text)) return `${content} (<code>${escapeHtml(target.file)}</code>)`
    return `<code>${escapeHtml(text)}</code>`
  }

  /** The site has no images, so a reader gets the description of the image. */
  override image({ href, text }: Tokens.Image): string {
    if (!('file' in this.#links.resolve(href, this.#page)))
      this.#links.broken.push(`${this.#page.file}: the image ${href} is not a file of the checkout`)
    if (text === '') this.#links.broken.push(`${this.#page.file}: the image ${href} has no description`)
    return `<em>Image: ${escapeHtml(text)}</em>`
  }

  override table(token: Tokens.Table): string {
    const hasHead = token.header.some(({ tokens }) => tokens.length > 0)
    const content = hasHead ? super.table(token) : this.#withoutHead(token)
    return `<div class="tablewrap" role="group" aria-label="Table" tabindex="0">${content}</div>\n`
  }

  #withoutHead({ rows }: Tokens.Table): string {
    const cellsOf = (row: Tokens.TableCell[]) => row.map((cell) => this.tablecell(cell)).join('')
    return `<table><tbody>${rows.map((row) => this.tablerow({ text: cellsOf(row) })).join('')}</tbody></table>`
  }

  override tablecell(cell: Tokens.TableCell): string {
    // Assistive technology would read an empty heading.
    return cell.header && cell.tokens.length === 0 ? '<td></td>\n' : super.tablecell(cell)
  }
}
