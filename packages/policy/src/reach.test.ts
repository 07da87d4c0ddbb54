import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyRule } from '@holdfast/contract/policy-document'
import fc from 'fast-check'
import { compile, device, NOW } from '../test/support/policies.ts'
import { decide } from './decide.ts'
import type { Target } from './target.ts'

const rules = (...parts: [action: 'allow' | 'deny', to: string, ports?: string[]][]): PolicyRule[] =>
  parts.map(([action, to, ports], i) => ({
    id: `r${i}`,
    action,
    from: { any: true },
    to: [to],
    ...(ports && { ports }),
  }))

const resources = {
  net: { cidrs: ['10.0.0.0/29'] },
  db: { cidrs: ['10.0.0.1/32'], ports: ['tcp/1-3'] },
  names: { dns: ['*.example.com'] },
  svc: { services: ['wiki'] },
}
const ask = (target: Target, ...parts: Parameters<typeof rules>) =>
  decide(compile({ resources, rules: rules(...parts) }), device(), { at: NOW }, target).decision

test('a target is allowed when some of it is', () => {
  assert.equal(ask({ name: 'net' }, ['allow', 'net'], ['deny', '10.0.0.0/30']), 'allow')
  assert.equal(ask({ name: 'net' }, ['allow', 'net'], ['deny', '10.0.0.0/30'], ['deny', '10.0.0.4/30']), 'deny')
  assert.equal(ask({ name: 'db' }, ['allow', 'db'], ['deny', 'db', ['tcp/1-2']]), 'allow')
  assert.equal(
    ask({ name: 'db' }, ['allow', 'db'], ['deny', 'db', ['tcp/1-2']], ['deny', '10.0.0.0/8', ['tcp/3']]),
    'deny',
  )
  assert.equal(ask({ name: 'db', protocol: 'tcp', port: 9 }, ['allow', '*']), 'deny')
  assert.equal(ask({ address: '10.0.0.1', protocol: 'tcp', port: 9 }, ['allow', '*']), 'allow')
})

test('a single address left over is found, and one inside a larger denied network is not', () => {
  const deny = (...to: string[]) => to.map((place): ['deny', string] => ['deny', place])
  assert.equal(ask({ name: 'net' }, ['allow', 'net'], ...deny('10.0.0.0', '10.0.0.2/31', '10.0.0.4/30')), 'allow')
  assert.equal(ask({ name: 'net' }, ['allow', 'net'], ...deny('10.0.0.0/30', '10.0.0.4/31', '10.0.0.6')), 'allow')
  assert.equal(ask({ name: 'net' }, ['allow', 'net'], ...deny('net', '10.0.0.0/30', '10.0.0.4/31', '10.0.0.6')), 'deny')
})

test('names and services', () => {
  assert.equal(ask({ name: 'git.example.com' }, ['allow', 'names']), 'allow')
  assert.equal(ask({ name: 'GIT.Example.com.' }, ['allow', 'names']), 'allow')
  assert.equal(ask({ name: 'a.b.example.com' }, ['allow', 'names']), 'allow')
  assert.equal(ask({ name: 'example.com' }, ['allow', 'names']), 'deny')
  assert.equal(ask({ name: 'evilexample.com' }, ['allow', 'names']), 'deny')
  assert.equal(ask({ name: 'svc' }, ['allow', 'svc']), 'allow')
  assert.equal(ask({ name: 'svc' }, ['allow', 'svc'], ['deny', '*']), 'deny')
})

test('an IPv4 address written as IPv6 is the same address', () => {
  assert.equal(ask({ address: '::ffff:10.0.0.1' }, ['allow', '*'], ['deny', '10.0.0.0/8']), 'deny')
  assert.equal(ask({ address: '::ffff:a00:1' }, ['allow', '::/0']), 'deny')
  assert.equal(ask({ address: '10.0.0.1' }, ['allow', '::/0']), 'deny')
})

test('in a world of eight addresses and four ports, the answer is that of trying each', () => {
  const place = fc.constantFrom(
    '10.0.0.0/29',
    '10.0.0.0/30',
    '10.0.0.4/30',
    '10.0.0.2/31',
    '10.0.0.6/31',
    ...Array.from({ length: 8 }, (_, i) => `10.0.0.${i}`),
    'net',
    'db',
    '*',
  )
  const ports = fc.constantFrom<string[]>(['tcp/1'], ['tcp/2-3'], ['tcp/1', 'tcp/4'], ['tcp/1-4'], ['tcp/*'])
  const allow = fc.tuple(fc.constant('allow' as const), place, ports)
  const deny = fc.tuple(fc.constant('deny' as const), place, fc.option(ports, { nil: undefined }))
  const compatible = ([, to, p]: [string, string, (string[] | undefined)?]) =>
    to !== 'db' || !p || p.some((port) => port !== 'tcp/4')
  const list = fc.array(fc.oneof(allow, deny, deny).filter(compatible), { maxLength: 9 })
  fc.assert(
    fc.property(list, fc.constantFrom('net', 'db'), (parts, name) => {
      const compiled = compile({ resources, rules: rules(...(parts as Parameters<typeof rules>)) })
      const { cidrs, all } = name === 'net' ? { cidrs: 8, all: 4 } : { cidrs: 1, all: 3 }
      const addresses = Array.from({ length: cidrs }, (_, i) => `10.0.0.${name === 'net' ? i : 1}`)
      const tried = addresses.flatMap((address) =>
        Array.from(
          { length: all },
          (_, i) => decide(compiled, device(), { at: NOW }, { address, protocol: 'tcp', port: i + 1 }).decision,
        ),
      )
      // More ports of `net` than the first four may be reachable, by rules on tcp/*. One distant port stands for them.
      const beyond =
        name === 'db'
          ? []
          : addresses.map(
              (address) => decide(compiled, device(), { at: NOW }, { address, protocol: 'tcp', port: 999 }).decision,
            )
      assert.equal(
        decide(compiled, device(), { at: NOW }, { name, protocol: 'tcp' }).decision === 'allow',
        [...tried, ...beyond].includes('allow'),
      )
    }),
    { numRuns: 500 },
  )
})

test('a point is decided as the rules read, one by one', () => {
  const place = fc.constantFrom('10.0.0.0/29', '10.0.0.0/30', '10.0.0.2/31', '10.0.0.3', '10.0.0.5')
  const bounds: Record<string, [number, number]> = {
    '10.0.0.0/29': [0, 7],
    '10.0.0.0/30': [0, 3],
    '10.0.0.2/31': [2, 3],
    '10.0.0.3': [3, 3],
    '10.0.0.5': [5, 5],
  }
  const ports = fc.constantFrom<[string, number, number]>(['tcp/1', 1, 1], ['tcp/2-3', 2, 3], ['tcp/*', 1, 65_535])
  const list = fc.array(fc.tuple(fc.constantFrom('allow' as const, 'deny' as const), place, ports), { maxLength: 6 })
  fc.assert(
    fc.property(list, fc.nat({ max: 7 }), fc.integer({ min: 1, max: 4 }), (parts, host, port) => {
      const matches = (action: string): boolean =>
        parts.some(([a, to, [, low, high]]) => {
          const [first = 0, last = 0] = bounds[to] ?? []
          return a === action && first <= host && host <= last && low <= port && port <= high
        })
      const expected = matches('allow') && !matches('deny') ? 'allow' : 'deny'
      const asked = parts.map(([action, to, [text]]): [typeof action, string, string[]] => [action, to, [text]])
      assert.equal(ask({ address: `10.0.0.${host}`, protocol: 'tcp', port }, ...asked), expected)
    }),
    { numRuns: 500 },
  )
})
