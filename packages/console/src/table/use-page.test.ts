import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nextPage, type Page } from './use-page.ts'

const after = (last: Page<string> | undefined, rows: readonly string[]) => nextPage(last, rows, (row) => row)
const keysOf = ({ keyed }: Page<string>) => new Map(keyed.map(({ id, key }) => [id, key]))

test('a row keeps its key while it is in the list, and no two rows have the same key', () => {
  const rows = fc.uniqueArray(fc.constantFrom(...'abcdefghijklmnop'), { maxLength: 8 })
  fc.assert(
    fc.property(fc.array(rows), (pages) => {
      let page: Page<string> | undefined
      for (const rows of pages) {
        const next = after(page, rows)
        assert.deepEqual([...keysOf(next).keys()], rows)
        assert.equal(new Set(keysOf(next).values()).size, rows.length)
        for (const [id, key] of page ? keysOf(page) : []) if (rows.includes(id)) assert.equal(keysOf(next).get(id), key)
        page = next
      }
    }),
  )
})

test('a page without a row of the last one is a turn, and takes its keys by position', () => {
  const first = after(undefined, ['a', 'b'])
  const turned = after(first, ['c', 'd', 'e'])
  assert.deepEqual([turned.turn, ...keysOf(turned)], [1, ['c', 0], ['d', 1], ['e', 2]])
  const changed = after(first, ['c', 'b'])
  assert.deepEqual([changed.turn, ...keysOf(changed)], [0, ['c', 2], ['b', 1]])
})
