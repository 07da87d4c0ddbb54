import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matches, readPage } from './page.ts'

const fence = '```'
const page = (...lines: string[]) => `${lines.join('\n')}\n`

test('a page gives its code blocks with line, language and attributes, without their indent', () => {
  const { setups, blocks } = readPage(
    page(
      '<!-- run: platform, gateway -->',
      '# Title',
      `${fence}json file=policy.json`,
      '{}',
      fence,
      '- item',
      `  ${fence}sh by-hand="needs an account" exit=2`,
      '  holdfast whoami',
      `  ${fence}`,
    ),
  )
  assert.deepEqual(setups, ['platform', 'gateway'])
  assert.deepEqual(blocks, [
    { line: 3, language: 'json', attributes: { file: 'policy.json' }, text: '{}\n' },
    { line: 7, language: 'sh', attributes: { 'by-hand': 'needs an account', exit: '2' }, text: 'holdfast whoami\n' },
  ])
})

test('a block without a language, with an unknown attribute, or without an end is refused with its line', () => {
  assert.throws(() => readPage(page('', fence, 'x', fence)), /line 2: the code block has no language/)
  assert.throws(() => readPage(page(`${fence}sh fiel=x`, fence)), /line 1: unknown attribute "fiel=x"/)
  assert.throws(() => readPage(page(`${fence}sh`)), /line 1: the code block is not closed/)
})

test('in a shown output … stands for any text, and everything else for itself', () => {
  assert.ok(matches('DEVICE  NAME\ndev_…  laptop\n', 'DEVICE  NAME  \ndev_01h  laptop\n\n'))
  assert.ok(matches('a…z', 'a\nb\nz'))
  assert.ok(
    matches('ISSUER  SUBJECT\nx       y', 'ISSUER     SUBJECT\nx          y'),
    'the width of columns does not count',
  )
  assert.ok(!matches('a.c', 'abc'))
  assert.ok(!matches('laptop', 'laptop 2'))
})
