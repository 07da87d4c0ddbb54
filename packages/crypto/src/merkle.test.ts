import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  consistencySpans,
  createGrowingTree,
  inclusionSpans,
  joined,
  leafHash,
  nodeHash,
  nodesOf,
  rootOver,
  type Span,
} from './merkle.ts'
import { isConsistent, isIncluded, peaksBefore } from './merkle-verify.ts'

/** Reference implementation of RFC 9162 §2.1.1. */
function naive(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return hash('sha256', '', 'buffer')
  if (leaves.length === 1) return leaves[0]!
  let k = 1
  while (k * 2 < leaves.length) k *= 2
  return nodeHash(naive(leaves.slice(0, k)), naive(leaves.slice(k)))
}
const leaves = Array.from({ length: 600 }, (_, i) => leafHash(Buffer.from(`entry ${i}`)))
const hashOf = (span: Span) =>
  joined(nodesOf(span).map(({ height, index }) => naive(leaves.slice(index * 2 ** height, (index + 1) * 2 ** height))))
const sizes = fc.integer({ min: 1, max: leaves.length })
const inTree = sizes.chain((size) =>
  fc.record({ size: fc.constant(size), index: fc.integer({ min: 0, max: size - 1 }) }),
)
const head = (size: number) => ({ size, root: naive(leaves.slice(0, size)) })

test('the tree hashes match the vectors of Certificate Transparency', () => {
  const entries = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
  const known = entries.map((entry) => leafHash(Buffer.from(entry, 'hex')))
  const roots = [
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ]
  const tree = createGrowingTree()
  for (const [size, root] of roots.entries()) {
    assert.equal(tree.root().toString('hex'), root)
    assert.equal(rootOver(known.slice(0, size)).toString('hex'), root)
    if (known[size]) tree.append(known[size])
  }
})

test('every computation of a root agrees with the definition', () => {
  const tree = createGrowingTree()
  for (let size = 0; size <= 300; size++) {
    const root = naive(leaves.slice(0, size))
    assert.ok(tree.root().equals(root) && rootOver(leaves.slice(0, size)).equals(root), `size ${size}`)
    assert.ok(hashOf([0, size]).equals(root) || size === 0)
    tree.append(leaves[size]!)
  }
})

test('an inclusion proof proves a leaf at its index only', () => {
  fc.assert(
    fc.property(inTree, inTree, fc.nat(9), ({ size, index }, other, nth) => {
      const path = inclusionSpans(index, size).map(hashOf)
      const { root } = head(size)
      const at = { leaf: leaves[index]!, index, size }
      assert.ok(isIncluded(at, path, root))
      assert.ok(path.length <= Math.ceil(Math.log2(size)) + 1)
      assert.equal(isIncluded({ ...at, leaf: leafHash(Buffer.from('another')) }, path, root), false)
      if (other.index !== index) assert.equal(isIncluded({ ...at, index: other.index }, path, root), false)
      assert.equal(isIncluded({ ...at, index: size }, path, root), false)
      assert.equal(isIncluded(at, [...path, root], root), false)
      assert.equal(isIncluded(at, path, leafHash(root)), false)
      if (path.length === 0) return
      assert.equal(isIncluded(at, path.slice(1), root), false)
      const changed = path.map((p, i) => (i === nth % path.length ? leafHash(p) : p))
      assert.equal(isIncluded(at, changed, root), false)
    }),
  )
})

test('the peaks in an inclusion proof continue the tree before the leaf', () => {
  fc.assert(
    fc.property(inTree, ({ size, index }) => {
      const peaks = peaksBefore(index, size, inclusionSpans(index, size).map(hashOf))
      const tree = createGrowingTree({ size: index, peaks })
      if (index > 0) assert.ok(tree.root().equals(head(index).root))
      for (const leaf of leaves.slice(index, size)) tree.append(leaf)
      assert.ok(tree.root().equals(head(size).root))
      assert.equal(tree.size, size)
    }),
  )
})

test('a consistency proof proves growth from the smaller tree only', () => {
  fc.assert(
    fc.property(sizes, sizes, fc.nat(9), (a, b, nth) => {
      const [from, to] = [head(Math.min(a, b)), head(Math.max(a, b))]
      const path = consistencySpans(from.size, to.size).map(hashOf)
      assert.ok(isConsistent(from, to, path))
      const forged = (h: typeof from) => ({ ...h, root: leafHash(h.root) })
      assert.equal(isConsistent(forged(from), to, path), false)
      assert.equal(isConsistent(from, forged(to), path), false)
      assert.equal(isConsistent(from, to, [...path, to.root]), false)
      assert.equal(isConsistent({ ...from, size: 0 }, to, path), false)
      if (from.size < to.size) {
        assert.equal(isConsistent(to, from, path), false, 'a log that is rewound')
        const changed = path.map((p, i) => (i === nth % path.length ? leafHash(p) : p))
        assert.equal(isConsistent(from, to, changed), false)
        assert.equal(isConsistent(from, to, path.slice(1)), false)
        assert.equal(isConsistent(from, to, []), false)
      }
    }),
  )
})

test('sizes beyond 32 bits are split at the right power of two', () => {
  const size = 2 ** 40 + 3
  assert.deepEqual(inclusionSpans(size - 1, size), [
    [2 ** 40, 2 ** 40 + 2],
    [0, 2 ** 40],
  ])
  assert.deepEqual(nodesOf([2 ** 40, size]), [
    { height: 1, index: 2 ** 39 },
    { height: 0, index: 2 ** 40 + 2 },
  ])
})
