import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { inBrowser, openGround } from './ground.ts'
import { openPage } from './page.ts'
import { views } from './views.ts'
import { pathOf } from './walk.ts'

/** Folder with the console that scripts/test.mjs built; undefined if it built none. */
const folder = process.env.HOLDFAST_TEST_CONSOLE_DIR
const built = { skip: inBrowser.skip || (folder === undefined && 'the console was not built') }

/** Bytes after `gzip -9`, as in the limits of DESIGN. */
const kb = 1000
const limits = { script: 150 * kb, style: 15 * kb, chunk: 60 * kb, codeEditor: 140 * kb, all: 700 * kb }

const assets = join(folder ?? '', 'assets')
const sizeOf = (name: string): number => statSync(join(assets, `${name}.gz`)).size
const sum = (names: readonly string[]): number => names.reduce((total, name) => total + sizeOf(name), 0)
const table = (names: readonly string[]) => names.map((name) => `${name} ${sizeOf(name)}`).join('\n')

/** Collects the names of the assets that a page requests from now on. */
function watchAssets(page: Page): Set<string> {
  const names = new Set<string>()
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (pathname.startsWith('/admin/assets/')) names.add(pathname.slice('/admin/assets/'.length))
  })
  return names
}

test('the device list loads at most 150 KB of scripts and 15 KB of styles', built, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'admin' })
  const names = watchAssets(page)
  await page.goto('/admin/devices')
  await page.locator('[data-row-link]').first().waitFor()
  const loaded = [...names]
  const [scripts, styles] = [/\.js$/, /\.css$/].map((ending) => loaded.filter((name) => ending.test(name)))
  assert.ok(scripts!.length > 1 && styles!.length > 0, loaded.join())
  t.diagnostic(`${sum(scripts!)} bytes of scripts, ${sum(styles!)} of styles`)
  assert.ok(sum(scripts!) <= limits.script, table(scripts!))
  assert.ok(sum(styles!) <= limits.style, table(styles!))
})

test(
  'no script chunk of the console exceeds 60 KB, the code editor 140 KB, and all together stay below 700 KB',
  built,
  () => {
    const scripts = readdirSync(assets).filter((name) => name.endsWith('.js'))
    const chunks = scripts.filter((name) => !/^(main|index)-/.test(name))
    assert.ok(chunks.length > 10 && chunks.length < scripts.length, scripts.join())
    assert.deepEqual(
      chunks
        .filter((name) => sizeOf(name) > (name.startsWith('code-editor-') ? limits.codeEditor : limits.chunk))
        .map((name) => `${name} ${sizeOf(name)}`),
      [],
    )
    assert.ok(sum(scripts) <= limits.all, `${sum(scripts)} bytes`)
  },
)

test('server-rendered pages load no script, and no page has inline scripts or styles', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openPage(t, ground, { as: 'viewer' })
  await page.goto('/admin/me')
  for (const view of views) {
    const { status, html } = await page.evaluate(htmlOf, { path: pathOf(view.path, ground.ids), isSignedIn: !!view.as })
    assert.equal(status, view.status ?? 200, view.name)
    const scripts = Array.from(html.matchAll(/<script\b([^>]*)>/g), ([, attributes]) => attributes!)
    const isOfConsole = html.includes('id="boot"')
    assert.equal(scripts.length, isOfConsole ? 2 : 0, `${view.name} has ${scripts.length} scripts`)
    assert.deepEqual(
      scripts.filter((one) => !/ src="\/|type="application\/json"/.test(one)),
      [],
      view.name,
    )
    assert.doesNotMatch(html, /<style|\sstyle=|\son[a-z]+=|javascript:/i, view.name)
  }
})

async function htmlOf({ path, isSignedIn }: { path: string; isSignedIn: boolean }) {
  const credentials = isSignedIn ? 'same-origin' : 'omit'
  const response = await fetch(path, { credentials, headers: { accept: 'text/html' } })
  return { status: response.status, html: await response.text() }
}
