import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const pages = globSync('docs/deploy/*.md', { cwd: root }).sort()
const blocks = (text: string) =>
  Array.from(text.matchAll(/^```(\S*)([^\n]*)\n([\s\S]*?)^```$/gm), ([, language, options = '', content = '']) => ({
    language,
    options,
    content,
  }))

/** All texts that a server or a command can print. */
const sources = globSync(['packages/{cli,contract,crypto,server}/src/**/*.ts', 'scripts/*.mjs'], {
  cwd: root,
  exclude: ['**/*.test.ts'],
})
  .map(read)
  .join('\n')

/** A message is put together of a prefix, a fault and a cure, so each of its parts is searched. */
test('each text that the guide to errors quotes is in the sources', () => {
  const quoted = ['docs/deploy/troubleshooting.md', 'docs/deploy/troubleshooting-start.md'].flatMap((file) =>
    blocks(read(file))
      .filter(({ language }) => language === 'text')
      .flatMap(({ content }) => content.trim().split(/…|: |; |\n/))
      .map((part) => part.trim())
      .filter((part) => part.length > 3),
  )
  assert.ok(quoted.length >= 20, `only ${quoted.length}`)
  const missing = quoted.filter((part) => !sources.includes(part))
  assert.deepEqual(missing, [], 'the wording has changed: change the guide too')
})

test('each message in a table of messages, and after "holdfast:", is in the sources', () => {
  const operatorPages = [...pages, 'docs/backup.md', 'docs/configuration.md', 'docs/master-key.md']
  const messages = operatorPages.flatMap((file) => {
    const inTables = Array.from(read(file).matchAll(/^\| message \|.*\n\|[-|]+\n((?:\|.*\n)+)/gm)).flatMap(
      ([, rows = '']) => rows.split('\n').map((row) => row.split(' | ')[0]!.slice(2).replaceAll('`', '')),
    )
    const ofStarts = blocks(read(file)).flatMap(({ content }) =>
      Array.from(content.matchAll(/^holdfast: (.*)$/gm), ([, message = '']) => message),
    )
    return [...inTables, ...ofStarts]
  })
  assert.ok(messages.length >= 10, `only ${messages.length}`)
  // The code joins these parts; names in quotes or capitals and numbers are values of the example.
  const joints = /…|: |; |, |"[^"]*"|\(|\d+|\b(?:holdfast(?:_app)?|which|set it to|[A-Z_]{5,})\b/
  const missing = messages
    .flatMap((message) => message.split(joints))
    .map((part) => part.replace(/\.$/, '').trim())
    .filter((part) => part.length > 5 && !sources.includes(part))
  assert.deepEqual(missing, [], 'the wording has changed: change the page too')
})

test('the guide to errors has at least twenty symptoms, and each says a cause and a cure', () => {
  const symptoms = ['docs/deploy/troubleshooting.md', 'docs/deploy/troubleshooting-start.md'].flatMap((file) =>
    read(file)
      .split(/^#{2,3} /m)
      .slice(1)
      .filter((section) => section.includes('\n\n') && /```text|\*\*Cause/.test(section)),
  )
  assert.ok(symptoms.length >= 20, `${symptoms.length}`)
  const incomplete = symptoms
    .filter((s) => !/Cure:|says for each reason what to do/.test(s))
    .map((s) => s.split('\n')[0])
  assert.deepEqual(incomplete, [])
})

test('the proxies page shows nginx.conf and haproxy.cfg as they are', () => {
  const shown = blocks(read('docs/deploy/proxy.md')).filter(({ options }) => options.includes('file='))
  assert.deepEqual(
    shown.map(({ content }) => content),
    ['docs/deploy/nginx.conf', 'docs/deploy/haproxy.cfg'].map(read),
  )
})

test('each alert is explained in the monitoring page, and uses metrics that exist', () => {
  const alerts = Array.from(read('docs/deploy/alerts.yml').matchAll(/- alert: (\w+)\n\s+expr: (.*)/g))
  assert.ok(alerts.length > 10)
  const explained = Array.from(
    read('docs/deploy/monitoring.md').matchAll(/^\| `(Holdfast\w+)` \|/gm),
    ([, name]) => name,
  )
  assert.deepEqual(
    alerts.map(([, name]) => name),
    explained,
  )
  const listed = read('docs/metrics.md')
  const used = alerts.flatMap(([, , expression = '']) => expression.match(/\b(?:holdfast|nodejs|process)_\w+/g) ?? [])
  const unknown = used.filter((name) => !listed.includes(`\`${name.replace(/_bucket$/, '')}\``))
  assert.deepEqual(unknown, [])
  const jobs = globSync('packages/server/src/**/*.ts', { cwd: root }).map(read).join('\n')
  for (const [, name] of read('docs/deploy/alerts.yml').matchAll(/task="(\w+)"/g)) assert.ok(jobs.includes(`'${name}'`))
})

test('each page of the guide has at most 200 lines and is linked from its map', () => {
  for (const page of pages) assert.ok(read(page).split('\n').length <= 201, page)
  const map = read('docs/deploy/README.md')
  const files = globSync('docs/deploy/*', { cwd: root }).map((file) => file.split('/').at(-1)!)
  assert.deepEqual(
    files.filter((file) => file !== 'README.md' && !map.includes(`](${file})`)),
    [],
  )
})
