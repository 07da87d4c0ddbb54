import assert from 'node:assert/strict'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { titleOf } from '@holdfast/cli/command-terms'
import { createProgram } from '@holdfast/cli/program'
import { cliReference, leavesOf } from './cli.ts'

const docs = join(import.meta.dirname, '../../docs')

test('docs/reference/cli.md and its pages are the help of the commands', () => {
  const pages = cliReference()
  if (process.env.UPDATE_GOLDEN === '1') {
    rmSync(join(docs, 'reference/cli'), { recursive: true, force: true })
    mkdirSync(join(docs, 'reference/cli'), { recursive: true })
    for (const [file, text] of pages) writeFileSync(join(docs, file), text)
  }
  const files = globSync(['reference/cli.md', 'reference/cli/*.md'], { cwd: docs })
  assert.deepEqual(files.sort(), [...pages.keys()].sort())
  const outdated = files.filter((file) => readFileSync(join(docs, file), 'utf8') !== pages.get(file))
  assert.deepEqual(outdated, [], 'read the change of the help, then run this test with UPDATE_GOLDEN=1')
})

test('every command has a title of at most 60 characters, which begins with a verb and has no full stop', () => {
  const { program } = createProgram({ input: process.stdin, output: process.stdout, errors: process.stderr, env: {} })
  const bad = leavesOf(program)
    .map(titleOf)
    .filter((title) => title.length > 60 || !/^[A-Z][a-z]+ /.test(title) || title.endsWith('.'))
  assert.deepEqual(bad, [])
})

test('every option and every argument in a list of arguments has a description', () => {
  const { program } = createProgram({ input: process.stdin, output: process.stdout, errors: process.stderr, env: {} })
  const bare = leavesOf(program).flatMap((command) =>
    command.options.filter(({ description }) => description === '').map(({ long }) => `${command.name()} ${long}`),
  )
  assert.deepEqual(bare, [])
})
