import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCommand, isRun, pages, placeOf } from './pages.ts'

/**
 * The blocks of commands that no program runs, by page. These numbers may only fall: a new block runs in `npm test`, or
 * in `npm run test:interop` if it needs a program or a new machine.
 */
const byHand: Readonly<Record<string, number>> = { 'README.md': 1 }
/**
 * Pages of which no block runs: the generated help of the command line, whose examples name things of the reader.
 * names-walk.test.ts of the command line runs the first example of each command.
 */
const generated = /^docs\/reference\/cli(\/[\w-]+)?\.md$/

const skip = process.env.HOLDFAST_TEST_PAGES !== undefined
test('every block of commands runs in npm test or test:interop, or is listed as run by hand', { skip }, (t) => {
  const all = pages.flatMap(({ file, page }) =>
    page.blocks.filter(isCommand).map((block) => ({ file, place: isRun(page) ? placeOf(block) : 'not run' })),
  )
  const places = Object.groupBy(all, (block) => block.place)
  const { test = [], interop = [], 'fresh machine': machine = [], 'by hand': hand = [], 'not run': left = [] } = places
  t.diagnostic(
    `blocks of commands: ${test.length} in npm test, ${interop.length} in test:interop, ` +
      `${machine.length} on new machines in test:interop, ${hand.length} by hand, ${left.length} in generated help`,
  )
  assert.deepEqual(
    [...new Set(left.map(({ file }) => file))].filter((file) => !generated.test(file)),
    [],
  )
  const counted = Object.entries(Object.groupBy(hand, ({ file }) => file)).map(([file, of = []]) => [file, of.length])
  assert.deepEqual(Object.fromEntries(counted), byHand)
})
