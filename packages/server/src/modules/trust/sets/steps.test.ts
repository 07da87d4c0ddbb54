import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { leading } from './steps.ts'

const set = (version: number, ...trust_kids: string[]) => ({ version, trust_kids })

test('the fewest sets are chosen, each signed by a key of the one before', () => {
  const to = set(9, 'd')
  const history = [set(1, 'a'), set(2, 'a', 'b'), set(3, 'b'), set(4, 'b', 'c'), set(5, 'c'), set(6, 'c', 'd')]
  assert.deepEqual(leading(history, to), [2, 4, 6])
  assert.deepEqual(leading(history.slice(2), to), [4, 6])
  assert.deepEqual(leading(history.slice(5), to), [])
  assert.deepEqual(leading([], to), [])
  assert.equal(leading([set(1, 'a'), set(2, 'b')], to), undefined, 'where nothing leads on')
})

test('any path that is found can be followed, for any history', () => {
  const kids = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(fc.array(kids, { maxLength: 12 }), kids, (history, last) => {
      const sets = history.map((k, i) => set(i + 1, ...k))
      const to = set(99, ...last)
      const path = leading(sets, to)
      if (!path || !sets[0]) return
      let at = sets[0]
      for (const next of [...path.map((v) => sets[v - 1]!), to]) {
        assert.ok(next.trust_kids.some((kid) => at.trust_kids.includes(kid)))
        assert.ok(next.version > at.version)
        at = next
      }
    }),
  )
})
