import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasRiddle, proseOf, sentencesOf } from './sentences.ts'

test('the prose of a page is its paragraphs, items and cells, without code blocks, headings and comments', () => {
  const page = [
    '<!-- run: none -->',
    '# Title',
    'One paragraph',
    'of two lines.',
    '',
    '- an item',
    '',
    '| head | cell |',
    '|---|---|',
    '| a | b |',
    '```sh',
    'holdfast whoami',
    '```',
  ].join('\n')
  assert.deepEqual(proseOf(page), ['One paragraph of two lines.', 'an item', 'head', 'cell', 'a', 'b'])
})

test('a sentence counts its words; code counts as one, and a short fragment is no sentence', () => {
  const text = 'Run `holdfast audit list`. See [the guide](a.md).\ndefault: 5'
  assert.deepEqual(
    sentencesOf({ place: 'x', text }).map(({ words }) => words),
    [2, 3],
  )
})

test('a clause with who, what or whoever as its subject is a riddle, a question is none', () => {
  for (const riddle of ['What is deleted loses its epoch.', 'It ends; who signs in sees it.', 'Ask whoever made it.'])
    assert.ok(hasRiddle(riddle), riddle)
  for (const plain of ['What does it need?', 'The server knows what it signed.', 'A person who signs in sees it.'])
    assert.ok(!hasRiddle(plain), plain)
})
