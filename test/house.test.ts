import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { views } from '../packages/console/src/paths.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const sources = globSync(['packages/*/{src,test}/**/*.{ts,tsx}', 'test/*.ts', 'scripts/*.mjs'], { cwd: root }).sort()

/**
 * Files that turn a text into a `TenantId`: in authentication, for a new tenant, and in messages of other replicas.
 * Rows have the type already.
 */
const makers = [
  'packages/server/src/http/admission/admit.ts',
  'packages/server/src/replication/feed.ts',
  'packages/server/src/replication/signals.ts',
  'packages/server/src/modules/access/index.ts',
  'packages/server/src/modules/devices/verify.ts',
  'packages/server/src/modules/gateways/registry/secrets.ts',
  'packages/server/src/modules/tenancy/tenant-id.ts',
]
test('a text is cast to TenantId in a few listed places', () => {
  const made = sources
    .filter((file) => file.startsWith('packages/server/src/') && !file.endsWith('.test.ts'))
    .flatMap((file) => Array.from(read(file).matchAll(/\bas (?:unknown as )?TenantId\b/g), () => file))
  assert.deepEqual(made.sort(), makers.toSorted())
})

test('every query on the connections of a cluster is limited to its own database', () => {
  const statements = sources
    .filter((file) => file.startsWith('packages/server/'))
    .flatMap((file) => Array.from(read(file).matchAll(/(['"`])(?:(?!\1)[\s\S])*?\1/g), ([text]) => ({ file, text })))
    .filter(({ text }) => /\bfrom (?:pg_stat_activity|pg_locks)\b/.test(text))
  assert.ok(statements.length > 5)
  assert.deepEqual(
    statements.filter(({ text }) => !text.includes('datname = ')),
    [],
  )
})

test('every version of a dependency is exact', () => {
  const loose = globSync(['package.json', 'packages/*/package.json'], { cwd: root }).flatMap((file) => {
    const parsed = JSON.parse(read(file)) as Record<string, Record<string, string> | undefined>
    return ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'].flatMap((kind) =>
      Object.entries(parsed[kind] ?? {})
        .filter(
          ([name, version]) =>
            !name.startsWith('@holdfast/') && !/^(?:npm:[@\w/.-]+@)?\d+\.\d+\.\d+[\w.+-]*$/.test(version),
        )
        .map(([name, version]) => `${file}: ${name} ${version}`),
    )
  })
  assert.deepEqual(loose, [])
})

test('docs/threats.md names existing files and tests', () => {
  const rows = read('docs/threats.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && line.includes('test.ts`'))
  const at = (folder: string, file: string) =>
    file.startsWith('packages/') ? file : `packages/server/${folder}/${file}`
  for (const row of rows) {
    const [, code = '', tests = ''] = row.split(/(?<!\\) \| /)
    for (const [, file = ''] of code.matchAll(/`([^`]+\.ts)`/g)) assert.ok(read(at('src', file)), file)
    const named = [...tests.matchAll(/`([^`]+)` "([^"]+)"/g)]
    assert.ok(named.length > 0, row)
    for (const [, file = '', words = ''] of named)
      assert.ok(read(at('test', file)).includes(words), `${file} has no "${words}"`)
  }
  assert.ok(rows.length > 100)
})

test('no file of source or test is longer than 400 lines', () => {
  const files = globSync(['packages/*/{src,test}/**/*.{ts,tsx,py}', 'test/**/*.ts', 'scripts/**/*.mjs'], { cwd: root })
  const long = files.filter((file) => read(file).split('\n').length - 1 > 400)
  assert.deepEqual(long, [])
})

test('every export is imported by another file', () => {
  const files = globSync(['packages/*/{src,test}/**/*.{ts,tsx}', 'test/**/*.ts', 'scripts/*.mjs'], { cwd: root })
  const texts = new Map(files.map((file) => [file, read(file)]))
  const wanted = new Set<string>()
  for (const [file, text] of texts)
    for (const [, how, names = '', from = ''] of text.matchAll(/^(import|export) ([^'";]*?) from '([^']+)'/gms)) {
      const target = fileOf(from, file)
      const [, all] = /\* as (\w+)/.exec(names) ?? []
      const each = all
        ? text.matchAll(new RegExp(`\\b${all}\\.(\\w+)`, 'g'))
        : names.matchAll(/(\w+)(?: as \w+)?(?=[,\s}])/g)
      for (const [, name] of each) wanted.add(`${target} ${name}`)
      const isGivenOn = all && [...text.matchAll(new RegExp(`\\b${all}\\b(?![.'])`, 'g'))].length > 1
      if (names.startsWith('*') && (how === 'export' || isGivenOn)) wanted.add(`${target} *`)
    }
  for (const [file, text] of texts)
    for (const [, from = '', name = '*'] of text.matchAll(
      /\bimport\('(\.[^']+)'\)(?:\.then\(\(\w+\) => \w+\.(\w+)\))?/g,
    ))
      wanted.add(`${fileOf(from, file)} ${name}`)
  // The router of the console finds the modules of views by their paths.
  for (const { module } of Object.values(views)) wanted.add(`packages/console/src/routes/${module}.tsx Page`)
  const idle = [...texts].flatMap(([file, text]) =>
    wanted.has(`${file} *`) || !file.includes('/src/')
      ? []
      : Array.from(
          text.matchAll(/^export (?:async )?(?:const|function\*?|class|type|interface) (\w+)/gm),
          ([, name]) => (wanted.has(`${file} ${name}`) ? [] : [`${file} ${name}`]),
        ).flat(),
  )
  assert.deepEqual(idle, [])
})
const fileOf = (from: string, by: string): string => {
  if (from.startsWith('.')) return normalize(join(dirname(by), from))
  const [, name, path = 'index'] = /^@holdfast\/(\w+)(?:\/(.+))?$/.exec(from) ?? []
  return `packages/${name}/src/${path}.ts`
}

test('an exported name of the server is in one file', () => {
  const files = new Map<string, Set<string>>()
  for (const file of sources.filter((f) => f.startsWith('packages/server/src/') && !/\.test\.ts$/.test(f)))
    for (const [, name = ''] of read(file).matchAll(
      /^export (?:async )?(?:const|let|function\*?|class|type|interface) (\w+)/gm,
    ))
      files.set(name, (files.get(name) ?? new Set()).add(file))
  const shared = [...files].flatMap(([name, places]) => (places.size > 1 ? [[name, ...places].join(' ')] : []))
  assert.deepEqual(shared, [])
})

test('no line of a comment, or of the prose of a page, is longer than 120 characters', () => {
  const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root }).sort()
  const long = [...sources, ...pages].flatMap((file) => {
    let isCode = false
    return read(file)
      .split('\n')
      .filter((line) => {
        const isPage = file.endsWith('.md')
        if (isPage && line.trimStart().startsWith('```')) isCode = !isCode
        const isProse = isPage ? !isCode && !/^\s*(?:\||\[)/.test(line) : /^\s*(?:\/\/|\/?\*)\s/.test(line)
        return isProse && line.length > 120
      })
      .map((line) => `${file}: ${line.slice(0, 60)}…`)
  })
  assert.deepEqual(long, [])
})

test('a validation error that begins with a field name lists the field too', () => {
  const textOnly = sources
    .filter((file) => file.startsWith('packages/server/src/') && !file.endsWith('.test.ts'))
    .flatMap((file) =>
      Array.from(
        read(file).matchAll(
          /(?:\bfail\(|new AppError\()\s*'validation_error',\s*(['"`])(?:[\w.-]|\[[^\]]*\]|\$\{[\w.]*\})+: (?:(?!\1)[\s\S])*\1,?\s*(?:\)|\{ (?!errors))/g,
        ),
        ([text]) => `${file}: ${text}`,
      ),
    )
  assert.deepEqual(textOnly, [])
})

test('each advisory lock has its own number, in one file', () => {
  const list = 'packages/server/src/db/advisory-locks.ts'
  for (const [, name = '', body = ''] of read(list).matchAll(/export const (\w+) = \{([^}]*)\}/g)) {
    const numbers = Array.from(body.matchAll(/: ([\d_]+)/g), ([, number]) => Number(number?.replaceAll('_', '')))
    assert.ok(numbers.length >= 5, name)
    assert.equal(new Set(numbers).size, numbers.length, name)
    for (const taken of [7264404, 7264490, 7264491]) assert.ok(!numbers.includes(taken), `${name}: ${taken}`)
  }
  const inMigrations = globSync('packages/server/migrations/*.sql', { cwd: root }).flatMap((file) =>
    Array.from(read(file).matchAll(/advisory\w*\((\d+)/g), ([, number]) => number),
  )
  assert.deepEqual([...new Set(inMigrations)].sort(), ['7264404', '7264490', '7264491'])
  const elsewhere = sources.filter(
    (file) => file.startsWith('packages/server/src/') && file !== list && /\b7_?264_?4\d\d\b/.test(read(file)),
  )
  assert.deepEqual(elsewhere, [])
})

/** Limits that stand in a query, and why nothing is lost beyond them. */
const ownLimits: Record<string, string> = {
  'certificates/spc/spcs.queries.ts limit 366': 'days of a chart; a certificate lives a day',
  'directory/pull/pulls.queries.ts limit 200': 'a part of the pages; the caller reads on after its last one',
  'policy/policy.queries.ts limit(20)': 'impacts to compute again; the others come with the next run of the job',
  'trust/keys/keys.queries.ts limit(1000)': 'keys to destroy; the others come with the next run of the job',
}
test('a query has no limit of its own: its caller sets it, and knows of the rest', () => {
  const modules = 'packages/server/src/modules/'
  const found = sources
    .filter((file) => file.startsWith(modules) && file.endsWith('.queries.ts'))
    .flatMap((file) =>
      Array.from(read(file).matchAll(/\blimit(?: (\d[\d_]*)|\((\d[\d_]*)\))/g))
        .filter(([, n, m]) => Number((n ?? m)?.replaceAll('_', '')) > 2)
        .map(([text]) => `${file.slice(modules.length)} ${text.trim()}`),
    )
  assert.deepEqual([...new Set(found)].sort(), Object.keys(ownLimits).sort())
})
