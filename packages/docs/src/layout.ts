import { escapeHtml } from './html.ts'
import { relativeAddress } from './links.ts'
import { mapPage, type NavigationGroup, type NavigationItem } from './navigation.ts'
import type { Heading, ParsedPage } from './parse-page.ts'

/** Names of the files that every page loads, below the folder of the site. */
export type PageFiles = { style: string; script: string; icon: string }

/** Parts that all pages share. */
export type Site = {
  groups: readonly NavigationGroup[]
  order: readonly ParsedPage[]
  files: PageFiles
  /** Address of the web console. Undefined: the site is not below a console. */
  consoleAddress: string | undefined
}

type Layout = {
  title: string
  /** Returns the address of a file of the site. */
  addressOf: (file: string) => string
  page?: ParsedPage
  /** HTML. */
  content: string
}

/** Renders a page of the site. */
export function renderDocument(site: Site, page: ParsedPage, content: string): string {
  const addressOf = (file: string) => relativeAddress(page.page, file)
  const outline = page.headings.filter(({ depth }) => depth === 2 || depth === 3)
  const links = outline.length > 1 ? outlineOf(outline) : ''
  const before = links && `<details class="toc-top"><summary>On this page</summary>${links}</details>\n`
  const beside = links && `<nav class="toc" aria-labelledby="toc"><p id="toc">On this page</p>${links}</nav>\n`
  const main = `${before}<article class="prose">\n${content}</article>\n${neighboursOf(site, page, addressOf)}`
  const whole = `<main id="main" tabindex="-1">\n${main}</main>\n${beside}`
  return documentOf(site, { title: page.title, addressOf, page, content: whole })
}

/**
 * Renders the page for an unknown address.
 *
 * @param root address of the site, since the depth of an unknown address is unknown
 */
export function renderNotFound(site: Site, root: string): string {
  const content = `<main id="main" tabindex="-1">
<article class="prose">
<h1>No such page</h1>
<p>The documentation has no page at this address. Search for it, or start at <a href="${root}">the first page</a>.</p>
</article>
</main>
`
  return documentOf(site, { title: 'No such page', addressOf: (file) => root + file, content })
}

const shield =
  '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linejoin="round" aria-hidden="true"><path d="M12 2.5 4 5.5v6c0 5 3.4 8.6 8 10 4.6-1.4 8-5 8-10v-6z"/><path d="M9 8v8M15 8v8M9 12h6" stroke-linecap="round"/></svg>'
const menu =
  '<svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" aria-hidden="true"><path d="M2 4h12M2 8h12M2 12h12"/></svg>'

function documentOf({ groups, files, consoleAddress }: Site, { title, addressOf, page, content }: Layout): string {
  const toConsole = consoleAddress === undefined ? '' : `<a class="console" href="${consoleAddress}">Console</a>\n`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · Holdfast documentation</title>
<link rel="icon" type="image/svg+xml" href="${addressOf(files.icon)}">
<link rel="stylesheet" href="${addressOf(files.style)}">
<script type="module" src="${addressOf(files.script)}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<button class="menubtn" type="button" popovertarget="nav" aria-label="Open the list of pages">${menu}</button>
<a class="brand" href="${addressOf(mapPage)}">${shield}<span>Holdfast <span class="soft">documentation</span></span></a>
<form class="search" role="search" hidden>
<input type="search" role="combobox" aria-label="Search the documentation" placeholder="Search" aria-expanded="false" aria-controls="found" aria-autocomplete="list" aria-keyshortcuts="/" autocomplete="off" spellcheck="false" maxlength="100">
<kbd aria-hidden="true">/</kbd>
<div class="found" id="found" role="listbox" aria-label="Search results" hidden></div>
<p class="vh" role="status"></p>
</form>
${toConsole}</header>
<div class="columns">
<nav class="sidebar" id="nav" popover="auto" aria-label="Pages">
${groups.map((group, i) => groupOf(group, i, { addressOf, page })).join('')}</nav>
${content}</div>
</body>
</html>
`
}

type Shown = { addressOf: Layout['addressOf']; page: ParsedPage | undefined }

const groupOf = ({ label, items }: NavigationGroup, n: number, shown: Shown): string =>
  `<p id="group-${n}">${escapeHtml(label)}</p>
<ul aria-labelledby="group-${n}">${items.map((item) => itemOf(item, shown)).join('')}</ul>
`

function itemOf({ page, label, children }: NavigationItem, { addressOf, page: current }: Shown): string {
  const mark = page === current ? ' aria-current="page"' : ''
  // The pages of a folder are shown where the reader is in it.
  const isOpen = page === current || children.some((child) => child.page === current)
  const below = isOpen && children.length > 0 ? children.map((c) => itemOf(c, { addressOf, page: current })) : []
  const nested = below.length > 0 ? `<ul>${below.join('')}</ul>` : ''
  return `<li><a href="${addressOf(page.page)}"${mark}>${escapeHtml(label)}</a>${nested}</li>\n`
}

const outlineOf = (headings: readonly Heading[]): string =>
  `<ul>${headings
    .map(({ id, depth, text }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`)
    .join('\n')}</ul>`

/** Links to the previous and the next page in the order of reading. */
function neighboursOf({ order }: Site, page: ParsedPage, addressOf: Layout['addressOf']): string {
  const at = order.indexOf(page)
  const link = (neighbour: ParsedPage | undefined, rel: string, label: string) =>
    neighbour
      ? `<a rel="${rel}" href="${addressOf(neighbour.page)}"><span class="soft">${label}</span> ${escapeHtml(neighbour.title)}</a>`
      : ''
  const both = link(order[at - 1], 'prev', 'Previous') + link(order[at + 1], 'next', 'Next')
  return both && `<nav class="neighbours" aria-label="Previous and next page">${both}</nav>\n`
}
