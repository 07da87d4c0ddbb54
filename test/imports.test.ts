import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { views } from '../packages/console/src/paths.ts'
import { circlesOf } from './circles.ts'

const root = join(import.meta.dirname, '..')
const moduleIndex = 'server/src/modules/\\w+/index'
const spine = 'server/src/(kernel|db|replication)/'

/**
 * The import rules: files that match the left may import our files that match the right, and none else. `$1` is the
 * module.
 */
const map: readonly (readonly [from: RegExp, may: RegExp])[] = [
  [/^contract\//, /^contract\//],
  [/^crypto\//, /^crypto\//],
  [/^policy\//, /^(contract|policy)\//],
  [/^sdk\//, /^(contract|crypto|sdk)\//],
  [/^cli\//, /^(contract|crypto|sdk|cli|server\/src\/(backup\/index|kernel\/cidr))(\/|\.ts$)/],
  [/^console\//, /^(contract|console)\//],
  [/^docs\//, /^docs\//],
  [/^bench\//, /^(contract|crypto|policy|sdk|bench|server\/src\/embedded)\//],
  [/^server\/src\/kernel\//, /^(contract\/src\/(vocabulary|limits)|server\/src\/kernel\/)/],
  [/^server\/src\/db\//, /^(contract\/src\/(vocabulary|limits)|server\/src\/(kernel|db)\/)/],
  [/^server\/src\/replication\//, /^server\/src\/(kernel|db|replication)\//],
  [/^server\/src\/embedded\//, /^server\/src\/embedded\//],
  [
    /^server\/src\/backup\//,
    new RegExp(`^(crypto/|${spine}|server/src/(backup|config|embedded)/|server/src/modules/(audit|updates)/index)`),
  ],
  [/^server\/src\/config\//, /^(contract\/src\/limits|crypto\/|server\/src\/config\/)/],
  [/^server\/src\/outbound\//, /^server\/src\/(outbound|kernel)\//],
  [/^server\/src\/metrics\//, /^(contract\/|server\/src\/(metrics\/|jobs\/runner|http\/connection\/plain-listener))/],
  [/^server\/src\/jobs\//, /^server\/src\/(jobs|kernel|db)\//],
  [/^server\/src\/http\//, new RegExp(`^(contract/|crypto/|${spine}|server/src/http/)`)],
  [
    /^server\/src\/modules\/(\w+)\/.*\.queries\.ts$/,
    new RegExp(
      `^(contract/src/limits|${spine}|server/src/modules/$1/([\\w-]+/)?[\\w-]+\\.queries|server/src/modules/audit/words/words)`,
    ),
  ],
  [
    /^server\/src\/modules\/(\w+)\//,
    new RegExp(
      `^(contract/|crypto/|policy/|${spine}|server/src/modules/$1/|${moduleIndex}|server/src/(outbound/|jobs/leased-worker)|server/src/http/(handlers|answer/(answer|html-page|representation)|pages/page|connection/plain-listener|admission/authenticate))`,
    ),
  ],
  [
    /^server\/src\/(app\/[\w-]+|main|terminal)\.ts$/,
    new RegExp(
      `^(contract/|server/src/(app/|terminal)|server/src/(config|db|embedded|http|jobs|kernel|replication|metrics|outbound)/|${moduleIndex})`,
    ),
  ],
]
/** A module may import the public API of the rows above its own and of its own row. */
const order = [
  ['audit', 'health', 'secrets'],
  ['access', 'tenancy', 'notifications', 'offboarding'],
  ['identity', 'trust', 'devices', 'policy', 'gateways', 'siem'],
  ['federation', 'directory', 'certificates', 'updates'],
  ['enrollment', 'expiry', 'compliance', 'locks', 'stream'],
  ['operations', 'workflows', 'dashboard', 'search', 'views'],
]

const packageOf = new Map(
  ['contract', 'crypto', 'policy', 'server', 'sdk', 'cli', 'bench', 'console', 'docs'].map((name) => [
    `@holdfast/${name}`,
    name,
  ]),
)
const files = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).filter((f) => !/\.test\.tsx?$/.test(f))

/** Imports and re-exports, of types too. A statement before the first `from` ends the match at `=`, `(` or `:`. */
const statement = /^(?:import|export)\s+(type\s)?(?:[^'";=():]*?from\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm
const comment = /^\s*(?:\/?\*|\/\/).*$/gm

function importsOf(file: string): { target: string; typeOnly: boolean }[] {
  const code = readFileSync(join(root, file), 'utf8').replaceAll(comment, '')
  return [...code.matchAll(statement)].flatMap(([, typeOnly, a, b]) => {
    const spec = a ?? b ?? ''
    const scoped = /^(@holdfast\/\w+)(?:\/(.+))?$/.exec(spec)
    const target = spec.startsWith('.')
      ? normalize(join(dirname(file), spec)).replace(/^packages\//, '')
      : scoped
        ? `${packageOf.get(scoped[1]!)}/src/${scoped[2] ?? 'index'}.ts`
        : undefined
    return target ? [{ target, typeOnly: typeOnly !== undefined }] : []
  })
}

test('imports follow the import map', () => {
  const bad: string[] = []
  for (const path of files) {
    const file = path.replace(/^packages\//, '')
    const rule = map.find(([from]) => from.test(file))
    if (!rule) {
      bad.push(`${file}: no rule covers it`)
      continue
    }
    const may = new RegExp(rule[1].source.replaceAll('$1', rule[0].exec(file)?.[1] ?? ''))
    for (const { target } of importsOf(path)) if (!may.test(target)) bad.push(`${file} -> ${target}`)
  }
  assert.deepEqual(bad, [])
})

const moduleOf = (file: string): string | undefined => /^server\/src\/modules\/(\w+)\//.exec(file)?.[1]

test('modules import each other in the order of their rows', () => {
  const rowOf = (name: string) => order.findIndex((row) => row.includes(name))
  const bad = files.flatMap((path) => {
    const from = moduleOf(path.replace(/^packages\//, ''))
    if (!from) return []
    return importsOf(path).flatMap(({ target }) => {
      const to = moduleOf(target) ?? from
      const follows = to === from || (rowOf(to) >= 0 && rowOf(to) <= rowOf(from))
      return follows ? [] : [`${from} -> ${to} (${path})`]
    })
  })
  assert.deepEqual(bad, [])
})

test('neither modules nor files import each other in a circle, types included', () => {
  const ofFiles = new Map(
    globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root })
      .sort()
      .map((path) => [path.replace(/^packages\//, ''), importsOf(path).map(({ target }) => target)]),
  )
  const ofModules = new Map<string, string[]>()
  for (const [file, targets] of ofFiles) {
    const from = moduleOf(file)
    if (!from) continue
    const to = targets.flatMap((target) => moduleOf(target) ?? []).filter((name) => name !== from)
    ofModules.set(from, [...new Set([...(ofModules.get(from) ?? []), ...to])])
  }
  assert.ok(ofFiles.size > 1500 && ofModules.size >= 26)
  const found = [ofModules, ofFiles].flatMap((graph) => circlesOf(graph).map((circle) => circle.join(' → ')))
  assert.deepEqual(found, [], `circles of imports:\n${found.join('\n')}`)
})

/** Folders whose parts still import each other in a circle. The list only shrinks. */
const foldersWithCircles = ['modules/gateways', 'modules/siem']

test('in no folder of the server do its folders and files import each other in a circle; types count', () => {
  /** Of each folder: its parts (a file, or a folder as a whole), and the parts that each imports. */
  const parts = new Map<string, Map<string, string[]>>()
  const inside = (file: string) => file.replace(/^(packages\/)?server\/src\//, '').split('/')
  for (const path of files.filter((f) => f.startsWith('packages/server/'))) {
    const from = inside(path)
    for (const { target } of importsOf(path).filter((i) => i.target.startsWith('server/src/'))) {
      const to = inside(target)
      const depth = from.findIndex((name, i) => name !== to[i])
      const folder = from.slice(0, depth).join('/')
      const graph = parts.get(folder) ?? new Map<string, string[]>()
      parts.set(folder, graph.set(from[depth]!, [...(graph.get(from[depth]!) ?? []), to[depth]!]))
    }
  }
  assert.ok(parts.size > 60 && parts.get('http')!.get('admission')!.includes('answer'))
  const found = [...parts].flatMap(([folder, graph]) => circlesOf(graph).map((circle) => [folder, circle.join(' → ')]))
  const unexpected = found.filter(([folder]) => !foldersWithCircles.includes(folder!))
  assert.deepEqual(unexpected, [])
  const mended = foldersWithCircles.filter((folder) => found.every(([name]) => name !== folder))
  assert.deepEqual(mended, [], 'these folders have no circle any more: take them off the list')
})

test('the search for circles finds exactly the circles', () => {
  const graph = { a: ['b'], b: ['c', 'x'], c: ['b', 'd'], d: ['e'], e: ['f'], f: ['d'], g: ['g'], h: ['a', 'd'] }
  assert.deepEqual(circlesOf(new Map(Object.entries(graph))), [
    ['d', 'e', 'f', 'd'],
    ['b', 'c', 'b'],
    ['g', 'g'],
  ])
})

test('one file of the server reads the environment', () => {
  const readers = files.filter(
    (f) => f.startsWith('packages/server/') && /process\.env/.test(readFileSync(join(root, f), 'utf8')),
  )
  assert.deepEqual(readers, ['packages/server/src/config/env.ts'])
})

test('the console imports only types of the contract, and the schema of policies, which its build turns into JSON', () => {
  const bad = files
    .filter((f) => f.startsWith('packages/console/') && f !== 'packages/console/src/editor/policy-schema.ts')
    .flatMap((f) =>
      importsOf(f)
        .filter(({ target, typeOnly }) => target.startsWith('contract/') && !typeOnly)
        .map(({ target }) => `${f} -> ${target}`),
    )
  assert.deepEqual(bad, [])
})

test('every internal import names an existing file', () => {
  const known = new Set(
    globSync('packages/*/src/**/*.{ts,tsx,css,json}', { cwd: root }).map((f) => f.replace(/^packages\//, '')),
  )
  const missing = files.flatMap((f) =>
    importsOf(f)
      .filter(({ target }) => !known.has(target))
      .map(({ target }) => `${f} -> ${target}`),
  )
  assert.deepEqual(missing, [])
})

/** Files that start a process, or that a package exports to others by its name. */
const entries = [
  'packages/bench/src/bench.ts',
  'packages/bench/src/deployment/clock.ts',
  'packages/bench/src/ha.ts',
  'packages/bench/src/rolling.ts',
  'packages/bench/src/sim.ts',
  'packages/bench/src/soak.ts',
  'packages/cli/src/main.ts',
  'packages/console/src/main.tsx',
  'packages/docs/src/client/main.ts',
  'packages/docs/src/main.ts',
  'packages/server/src/main.ts',
  'packages/server/src/modules/trust/keys/pkcs11/token-process.ts',
]
test('code that only tests import lies in a test folder', () => {
  const quoted = /'(\.{1,2}\/[^']+|@holdfast\/[^']+)'/g
  // The router of the console finds the modules of views by their paths.
  const pages: readonly string[] = Object.values(views).map(({ module }) => `packages/console/src/routes/${module}.tsx`)
  const imported = new Set([
    ...pages,
    ...files.flatMap((f) =>
      [...readFileSync(join(root, f), 'utf8').matchAll(quoted)].map(([, spec = '']) => {
        const [, name, path = 'index'] = /^@holdfast\/(\w+)(?:\/(.+))?$/.exec(spec) ?? []
        return name ? `packages/${name}/src/${path}.ts` : normalize(join(dirname(f), spec))
      }),
    ),
  ])
  assert.deepEqual(files.filter((f) => !imported.has(f)).sort(), entries)
})

test('npm start needs no development dependencies', () => {
  const dependenciesOf = (folder: string) =>
    Object.keys(JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')).dependencies)
  const own = new Map([...packageOf.values()].map((name) => [name, dependenciesOf(`packages/${name}`)]))
  const importing = [...files, 'packages/console/vite.config.ts', 'scripts/console-build.mjs']
  const missing = importing.flatMap((file) => {
    const listed = own.get(/^packages\/(\w+)\//.exec(file)?.[1] ?? 'console')!
    const text = readFileSync(join(root, file), 'utf8')
    const imported = text.matchAll(
      /(?:^|\n)(?:import|export)\s(?!type\s)[^'";]*?\bfrom\s+'([^'.][^']*)'|import\(\s*'([^'.][^']*)'\s*\)/g,
    )
    return [...imported]
      .map(([, a, b]) => /^(?:@[^/]+\/)?[^/]+/.exec((a ?? b)!)![0])
      .filter((name) => !name.startsWith('node:') && !listed.includes(name))
      .map((name) => `${file} -> ${name}`)
  })
  assert.deepEqual(missing, [])
})

test('the server imports only types from node:http, since an import loads the fetch of Node', () => {
  const importing = files.filter(
    (f) =>
      /^packages\/(contract|crypto|policy|server)\//.test(f) &&
      /(?:^|\n)import\s(?!type\s)[^'";]*?from\s+'(?:node:)?http'/.test(readFileSync(join(root, f), 'utf8')),
  )
  assert.deepEqual(importing, [])
})

test('no migration number is used twice', () => {
  const numbers = globSync('packages/server/migrations/*.sql', { cwd: root }).map((f) =>
    f.replace(/^.*\/(\d+)_.*$/, '$1'),
  )
  assert.deepEqual(
    numbers.sort(),
    numbers.map((_, i) => String(i + 1).padStart(4, '0')),
  )
})
