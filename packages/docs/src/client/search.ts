// The search of the pages. The index is a file of the site, and the search runs in the browser.
import MiniSearch from 'minisearch'

type Entry = { id: string; title: string; page: string; text: string }

const most = 12
/** Characters of a text in the list of results. */
const shown = 120
const root = new URL('..', import.meta.url)

const answer = await fetch(new URL('./search-index.json', import.meta.url))
if (!answer.ok || answer.redirected) throw new Error('the index of the search could not be loaded')
const { options, index } = await answer.json()
const engine = MiniSearch.loadJS<Entry>(index, {
  ...options,
  searchOptions: {
    boost: { title: 4, page: 2 },
    prefix: true,
    fuzzy: (term: string) => (term.length > 4 ? 0.2 : false),
    combineWith: 'AND',
  },
})

let isAttached = false

/** Shows results below the field as the reader types. A second call does nothing. */
export function attach(form: HTMLFormElement, field: HTMLInputElement): void {
  if (isAttached) return
  isAttached = true
  const list = form.querySelector<HTMLElement>('.found')!
  const status = form.querySelector<HTMLElement>('[role=status]')!
  let links: HTMLAnchorElement[] = []
  let active = -1

  const choose = (n: number) => {
    active = n
    for (const [i, link] of links.entries()) link.setAttribute('aria-selected', String(i === n))
    const link = links[n]
    if (!link) return field.removeAttribute('aria-activedescendant')
    field.setAttribute('aria-activedescendant', link.id)
    link.scrollIntoView({ block: 'nearest' })
  }
  const open = (isOpen: boolean) => {
    list.hidden = !isOpen
    if (!isOpen) status.className = 'vh'
    field.setAttribute('aria-expanded', String(isOpen))
    if (!isOpen) field.removeAttribute('aria-activedescendant')
  }
  const search = () => {
    const typed = field.value.trim()
    const found = typed === '' ? [] : engine.search(typed).slice(0, most)
    links = found.map((entry, i) => linkOf(entry as unknown as Entry, typed, i))
    const isNone = typed !== '' && links.length === 0
    list.replaceChildren(...links)
    status.textContent = isNone ? 'No page has these words.' : countOf(links.length)
    open(links.length > 0)
    status.className = isNone ? 'found' : 'vh'
    choose(links.length > 0 ? 0 : -1)
  }

  field.addEventListener('input', search)
  field.addEventListener('keydown', (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined && links.length > 0 && !list.hidden) {
      event.preventDefault()
      choose((active + by + links.length) % links.length)
    } else if (event.key === 'Enter' && !list.hidden) links[active]?.click()
    else if (event.key === 'Escape') open(false)
  })
  // A result on this page only moves the page, so its list has to close.
  list.addEventListener('click', () => open(false))
  form.addEventListener('focusout', ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node) || !form.contains(relatedTarget)) open(false)
  })
  field.addEventListener('focus', () => open(links.length > 0))
  if (field.value !== '') search()
}

const countOf = (n: number): string => (n === 0 ? '' : n === 1 ? '1 result' : `${n} results`)

function linkOf({ id, title, page, text }: Entry, typed: string, n: number): HTMLAnchorElement {
  const link = document.createElement('a')
  link.href = new URL(id, root).href
  link.id = `found-${n}`
  link.setAttribute('role', 'option')
  link.tabIndex = -1
  const place = document.createElement('span')
  place.className = 'soft'
  place.textContent = title === page ? '' : ` ${page}`
  const name = document.createElement('strong')
  name.textContent = title
  const excerpt = document.createElement('span')
  excerpt.className = 'excerpt'
  excerpt.append(...excerptOf(text, typed))
  link.append(name, place, excerpt)
  return link
}

/** Returns the part of a text around the first typed word, which is marked. */
function excerptOf(text: string, typed: string): Node[] {
  const words = typed.toLowerCase().split(/\s+/)
  const lower = text.toLowerCase()
  const [word, at] = words.map((w) => [w, lower.indexOf(w)] as const).find(([, found]) => found >= 0) ?? ['', 0]
  const from = Math.max(0, at - 40)
  const mark = document.createElement('mark')
  mark.textContent = text.slice(at, at + word.length)
  const before = `${from > 0 ? '…' : ''}${text.slice(from, at)}`
  return [document.createTextNode(before), mark, document.createTextNode(text.slice(at + word.length, at + shown))]
}
