import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import MiniSearch from 'minisearch'
import { makeSite } from './build.ts'
import { documentsOf, readSources } from './sources.ts'

const root = join(import.meta.dirname, '../../..')
const served = { root: '/admin/docs/', consoleAddress: '/admin' }

/** Makes a site of a map and these documents of docs, and returns its pages by path. */
function siteOf(documents: Record<string, string>, map = '# Documents\n'): Map<string, string> {
  const sources = Object.entries({ 'README.md': map, ...documents }).map(([name, text]) => ({
    file: `docs/${name}`,
    page: name.replace(/README\.md$/, 'index.html').replace(/\.md$/, '.html'),
    text,
  }))
  return new Map(makeSite(root, sources, served).pages.map(({ path, content }) => [path, content]))
}
/** The site of this checkout, made once. */
let made: ReturnType<typeof makeSite> | undefined
function whole() {
  made ??= makeSite(root, readSources(root), served)
  return made
}
/** Returns the article of the page of one document. */
const articleOf = (text: string): string =>
  /<article class="prose">\n([\s\S]*?)<\/article>/.exec(siteOf({ 'a.md': `# A\n\n${text}\n` }).get('a.html')!)![1]!

test('a link between documents leads to the page, and to the heading', () => {
  const pages = siteOf({
    'a.md': '# A\n\n[b](how-to/b.md#the-end-of-it) [self](#part) [map](README.md)\n\n## Part\n',
    'how-to/b.md': '# B\n\n[a](../a.md)\n\n## The `end` of it\n',
  })
  const a = pages.get('a.html')!
  for (const link of [
    '<a href="how-to/b.html#the-end-of-it">b</a>',
    '<a href="#part">self</a>',
    '<a href="index.html">',
  ])
    assert.ok(a.includes(link), link)
  const b = pages.get('how-to/b.html')!
  assert.ok(b.includes('<a href="../a.html">a</a>'))
  assert.ok(b.includes('<h2 id="the-end-of-it">'))
})

test('a link to a file without a page is code, not a link', () => {
  const article = articleOf('[`main.ts`](../packages/docs/src/main.ts), [the starter](../scripts/start.mjs)')
  assert.ok(article.includes('<p><code>main.ts</code>, the starter (<code>scripts/start.mjs</code>)</p>'), article)
})

test('each broken link fails the build, with its document and its reason', () => {
  const text = '# A\n\n[x](b.md) [y](#no) [z](../no.ts) [http](http://other.example) [root](/admin) ![p](p.png)\n'
  assert.throws(
    () => siteOf({ 'a.md': text }),
    (e: Error) => {
      assert.deepEqual(e.message.split('\n'), [
        'docs/a.md: the link b.md leads to no file',
        'docs/a.md: the link #no leads to no heading of docs/a.md',
        'docs/a.md: the link ../no.ts leads to no file',
        'docs/a.md: the link http://other.example is neither a path nor an address with https',
        'docs/a.md: the link /admin is neither a path nor an address with https',
        'docs/a.md: the image p.png leads to no file',
      ])
      return true
    },
  )
  assert.throws(() => siteOf({ 'a.md': 'No title\n' }), /docs\/a\.md has no title/)
})

test('each image has a description, a size and a file of the site; both themes are offered where they exist', () => {
  const concepts = articleOf('![The parts](images/concepts.svg)')
  assert.match(
    concepts,
    /<img src="assets\/concepts-[\w-]{10}\.svg" alt="The parts" width="\d+" height="\d+" loading="lazy">/,
  )
  const home = articleOf('![Home](../packages/console/test/screenshots/admin-1440-light.png)')
  const shown = /<img class="(\w+)-only" src="assets\/admin-1440-(\w+)-[\w-]{10}\.png" alt="Home" width="1440"/g
  assert.deepEqual(
    Array.from(home.matchAll(shown), ([, theme, name]) => [theme, name]),
    [
      ['light', 'light'],
      ['dark', 'dark'],
    ],
  )
  const broken = (image: string) => () => articleOf(image)
  assert.throws(broken('![](images/concepts.svg)'), /concepts\.svg has no description/)
  assert.throws(broken('![x](https://other.example/x.png)'), /x\.png is no path of a PNG or SVG file/)
  const named = new Set(whole().assets.map(({ path }) => path))
  const loaded = whole().pages.flatMap(({ content }) => Array.from(content.matchAll(/<img[^>]* src="([^"]*)"/g)))
  assert.ok(loaded.length >= 3)
  for (const [, src = ''] of loaded) assert.ok(named.has(src.replace(/^(?:\.\.\/)*/, '')), src)
})

test('comments are left out, and other HTML is shown as text', () => {
  const article = articleOf(
    '<!-- run: tenant -->\n\nA <b onclick="x()">bold</b> <!-- quiet --> word\n\n<script>alert(1)</script>',
  )
  assert.doesNotMatch(article, /run:|quiet|<b|<script/)
  assert.match(article, /&lt;b onclick=&quot;x\(\)&quot;&gt;bold&lt;\/b&gt;/)
  assert.match(article, /&lt;script&gt;/)
})

test('the first word after a fence is the language, and code is coloured by classes', () => {
  const article = articleOf(
    '```json file=policy.json\n{ "a": "<b>" }\n```\n\n```text needs=x\n<c>\n```\n\n```sh\necho "$x"\n```',
  )
  assert.match(article, /<code class="hljs">.*<span class="hljs-string">&quot;&lt;b&gt;&quot;<\/span>/)
  assert.match(article, /<pre tabindex="0"><code>&lt;c&gt;<\/code><\/pre>/)
  assert.match(article, /<span class="hljs-variable">\$x<\/span>/)
  assert.doesNotMatch(article, /file=|needs=|style=/)
})

test('equal headings get the anchors that GitHub gives them', () => {
  assert.deepEqual(
    Array.from(articleOf('## Same\n\n## Same\n\n### Ändern & more').matchAll(/id="([^"]+)"/g), ([, id]) => id),
    ['a', 'same', 'same-1', 'ändern--more'],
  )
})

test('a table without headings has none, and an empty heading is no heading', () => {
  assert.doesNotMatch(articleOf('| | |\n|---|---|\n| a | b |'), /<thead|<th/)
  assert.match(articleOf('| a | |\n|---|---|\n| a | b |'), /<th>a<\/th>\s*<td><\/td>/)
})

test('the map orders the navigation; a page that it lacks is in its folder or at the end', () => {
  const map =
    '# Map\n\n## Learn\n\n- [docs/b.md](b.md)\n- [the first](a.md)\n\n## Understand\n\n- [Reasons](why/README.md)\n'
  const page = (title: string) => `# ${title}\n`
  const documents = { 'a.md': 'A', 'b.md': 'Title of B', 'c.md': 'C', 'why/README.md': 'Why', 'why/1.md': 'One' }
  const pages = siteOf(Object.fromEntries(Object.entries(documents).map(([n, t]) => [n, page(t)])), map)
  const linksOf = (path: string) => {
    const nav = /<nav class="sidebar"[\s\S]*?<\/nav>/.exec(pages.get(path)!)![0]
    return Array.from(
      nav.matchAll(/<p[^>]*>([^<]*)|<a href="([^"]*)"([^>]*)>([^<]*)/g),
      ([, group, to, mark, label]) => (group === undefined ? `${label}: ${to}${mark}` : group),
    )
  }
  const here = ' aria-current="page"'
  assert.deepEqual(linksOf('a.html'), [
    ...['Learn', 'Title of B: b.html', `The first: a.html${here}`],
    ...['Understand', 'Reasons: why/index.html', 'More', 'C: c.html'],
  ])
  assert.deepEqual(linksOf('why/1.html').slice(3, 6), ['Understand', 'Reasons: index.html', `One: 1.html${here}`])
  assert.match(pages.get('why/1.html')!, /rel="prev" href="index.html"[\s\S]*rel="next" href="\.\.\/c\.html"/)
})

test('the site of this checkout has a page for each document, without anything inline or from elsewhere', () => {
  const { pages, assets } = whole()
  assert.equal(pages.length, documentsOf(root).length + 1)
  for (const { path, content } of pages) {
    assert.doesNotMatch(content, /<!--/, path)
    for (const [tag] of content.matchAll(/<[a-z][^>]*>/gi)) {
      assert.doesNotMatch(tag, /\s(?:style|on\w+|srcdoc)\s*=|javascript:|^<(?:style|iframe|object|base)\b/i, path)
      if (/^<(?:script|link|img)/.test(tag)) assert.doesNotMatch(tag, /\/\//, `${path}: ${tag}`)
    }
    assert.equal(content.match(/<script/g)?.length, 1, path)
    assert.match(content, /<h1/, path)
  }
  for (const { path, content } of assets.filter(({ path }) => /\.(?:css|js)$/.test(path)))
    assert.doesNotMatch(
      String(content).replaceAll(/\/\*[\s\S]*?\*\/|^ *\/\/.*$/gm, ''),
      /https?:|@import|url\(|innerHTML/,
      path,
    )
})

test('the search finds a section by its words', () => {
  const { assets, pages } = whole()
  const { options, index } = JSON.parse(String(assets.find(({ path }) => path.includes('search-index'))!.content))
  const engine = MiniSearch.loadJS(index, options)
  const [first] = engine.search('dead letter', { combineWith: 'AND', boost: { title: 4, page: 2 } })
  assert.match(String(first?.id), /^siem-delivery\.html#dead-letters/)
  const known = new Set(pages.map(({ path }) => path))
  for (const id of Object.values(index.documentIds as Record<string, string>))
    assert.ok(known.has(id.split('#')[0]!), id)
})
