import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { packTar } from 'modern-tar'

const root = join(import.meta.dirname, '..')

/** A checkout whose lockfile lists one package for the product and one for development. */
async function makeTree(t: TestContext) {
  const tree = mkdtempSync(join(tmpdir(), 'holdfast-prepare-'))
  t.after(() => rmSync(tree, { recursive: true }))
  const at = (...parts: string[]) => join(tree, ...parts)
  mkdirSync(at('scripts'))
  mkdirSync(at('vendor'))
  cpSync(join(root, 'scripts/prepare.mjs'), at('scripts/prepare.mjs'))
  const own = { name: 'tree', version: '1.0.0' }
  const depends = {
    dependencies: { kept: 'file:vendor/kept.tgz' },
    devDependencies: { tool: 'file:vendor/tool.tgz' },
  }
  const packages = {
    '': { ...own, ...depends },
    'node_modules/kept': await pack('kept', at('vendor')),
    'node_modules/tool': { ...(await pack('tool', at('vendor'))), dev: true },
  }
  writeFileSync(at('package.json'), JSON.stringify({ ...own, private: true, ...depends }))
  writeFileSync(at('package-lock.json'), JSON.stringify({ ...own, lockfileVersion: 3, requires: true, packages }))
  const given = readFileSync(at('package-lock.json'), 'utf8')
  return {
    at,
    has: (name: string) => existsSync(at('node_modules', name, 'index.js')),
    stamp: at('node_modules/.holdfast-install'),
    prepare: (...options: string[]) => run(at('scripts/prepare.mjs'), options),
    /** Replaces npm by a script, which gets the parts of the command in `given`. */
    prepareWith: (script: string) => {
      writeFileSync(at('vendor/npm-cli.js'), `const [, , ...given] = process.argv\n${script}`)
      return run(at('scripts/prepare.mjs'), ['--product'], at('vendor/npm-cli.js'))
    },
    isAsGiven: () => {
      assert.equal(readFileSync(at('package-lock.json'), 'utf8'), given)
      assert.deepEqual(readdirSync(tree).sort(), [
        'node_modules',
        'package-lock.json',
        'package.json',
        'scripts',
        'vendor',
      ])
    },
  }
}

async function pack(name: string, folder: string) {
  const manifest = JSON.stringify({ name, version: '1.0.0' })
  const content = gzipSync(
    await packTar([
      { header: { name: 'package/package.json', size: manifest.length }, body: manifest },
      { header: { name: 'package/index.js', size: 0 }, body: '' },
    ]),
  )
  writeFileSync(join(folder, `${name}.tgz`), content)
  const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`
  return { version: '1.0.0', resolved: `file:vendor/${name}.tgz`, integrity }
}

/** Runs the script and returns its output. Throws if it fails. */
async function run(script: string, options: string[], npm?: string): Promise<string> {
  const env = { ...process.env, ...(npm && { npm_execpath: npm, npm_node_execpath: process.execPath }) }
  const child = spawn(process.execPath, [script, ...options], { stdio: ['ignore', 'pipe', 'pipe'], env })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk
    })
  const code = await new Promise((resolve) => child.once('close', resolve))
  assert.equal(code, 0, said)
  return said
}

test('npm start installs no development packages, and npm test adds them without removing others', async (t) => {
  const { at, has, stamp, prepare, isAsGiven } = await makeTree(t)
  assert.match(await prepare('--product'), /first run/)
  assert.deepEqual([has('kept'), has('tool')], [true, false])
  isAsGiven()
  assert.equal(await prepare('--product'), '')

  // A tree installed by hand has no stamp. A folder in its place stands for a tree where none can be written.
  rmSync(stamp)
  assert.equal(await prepare('--product'), '')
  assert.match(readFileSync(stamp, 'utf8'), /^[0-9a-f]{64} product$/)
  rmSync(stamp)
  mkdirSync(stamp)
  assert.equal(await prepare('--product'), '')
  rmSync(stamp, { recursive: true })

  // An interrupted installation left a folder that looks like a package.
  mkdirSync(at('node_modules/tool'))
  writeFileSync(at('node_modules/tool/package.json'), JSON.stringify({ name: 'tool', version: '1.0.0' }))
  mkdirSync(at('node_modules/.cache'))
  const folders = ['node_modules', 'node_modules/kept', 'node_modules/kept/index.js', 'node_modules/.cache']
  const numbers = () => folders.map((name) => statSync(at(name)).ino)
  const before = numbers()
  assert.match(await prepare(), /for development/)
  assert.deepEqual([has('kept'), has('tool')], [true, true])
  assert.deepEqual(numbers(), before)
  isAsGiven()

  assert.deepEqual([await prepare(), await prepare('--product')], ['', ''])
  rmSync(stamp)
  assert.deepEqual([await prepare('--product'), await prepare()], ['', ''])
  assert.match(readFileSync(stamp, 'utf8'), /^[0-9a-f]{64}$/)

  // npm itself removes a package after the stamp was written.
  await new Promise((resolve) => setTimeout(resolve, 20))
  const record = at('node_modules/.package-lock.json')
  const { packages, ...others } = JSON.parse(readFileSync(record, 'utf8'))
  const { 'node_modules/tool': _, ...rest } = packages
  writeFileSync(record, JSON.stringify({ ...others, packages: rest }))
  rmSync(at('node_modules/tool'), { recursive: true })
  assert.equal(await prepare('--product'), '')
  assert.match(readFileSync(stamp, 'utf8'), / product$/)
})

test('npm start and npm test at the same time end with all packages', async (t) => {
  const { has, prepare, isAsGiven } = await makeTree(t)
  await Promise.all([prepare('--product'), prepare(), prepare('--product')])
  assert.deepEqual([has('kept'), has('tool')], [true, true])
  isAsGiven()
  assert.equal(await prepare(), '')
})

/** A script in the place of npm. Its registry has a path. */
const registry = `if (given[0] === 'config') { console.log('http://registry.test/npm'); process.exit() }`

test('npm gets the address of each package, and the file with them is gone when it ends', async (t) => {
  const { at, prepareWith } = await makeTree(t)
  const lock = JSON.parse(readFileSync(at('package-lock.json'), 'utf8'))
  lock.packages['node_modules/@scope/inner'] = { version: '2.1.0', integrity: 'sha512-x', optional: true }
  lock.packages['node_modules/kept/node_modules/other'] = {
    name: 'renamed',
    version: '1.0.0',
    integrity: 'sha512-x',
    optional: true,
  }
  writeFileSync(at('package-lock.json'), JSON.stringify(lock))
  const copies = `require('node:fs').copyFileSync('npm-shrinkwrap.json', 'vendor/seen.json')`
  // The first attempt fails, as at a registry with other addresses, so the second one has none.
  const counts = `const { appendFileSync, existsSync } = require('node:fs')
    appendFileSync('vendor/attempts', existsSync('npm-shrinkwrap.json') + ' ')`
  const said = await prepareWith(
    `${registry}\n${counts}\nif (existsSync('npm-shrinkwrap.json')) ${copies}\nprocess.exit(3)`,
  ).catch(String)
  assert.match(said, /npm failed, see above/)
  assert.equal(readFileSync(at('vendor/attempts'), 'utf8'), 'true false ')
  const { packages } = JSON.parse(readFileSync(at('vendor/seen.json'), 'utf8'))
  assert.deepEqual(
    ['kept', '@scope/inner', 'kept/node_modules/other'].map((name) => packages[`node_modules/${name}`].resolved),
    [
      'file:vendor/kept.tgz',
      'http://registry.test/npm/@scope/inner/-/inner-2.1.0.tgz',
      'http://registry.test/npm/renamed/-/renamed-1.0.0.tgz',
    ],
  )
  assert.equal(existsSync(at('npm-shrinkwrap.json')), false)
})

test('an installation that is stopped stops npm and leaves no files', async (t) => {
  const { prepareWith, prepare, has, isAsGiven } = await makeTree(t)
  const ends = `process.kill(process.ppid, 'SIGTERM'); setTimeout(() => {}, 60_000)`
  const started = performance.now()
  await assert.rejects(prepareWith(`${registry}\n${ends}`))
  assert.ok(performance.now() - started < 30_000, 'npm ended, since it holds the output')
  await prepare('--product')
  assert.ok(has('kept'))
  isAsGiven()
})
