import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyText } from '@holdfast/crypto/test/any-text'
import fc from 'fast-check'
import { FederationError } from '../proven-identity.ts'
import { readXml, type XmlElement } from './xml.ts'

const isRefused = (e: unknown) => e instanceof FederationError && e.reason === 'token'

test('names, attributes, text and comments are read by the XML standard', () => {
  const root = readXml(
    '<?xml version="1.0" encoding="UTF-8"?>\n<!-- a --><a:r xmlns:a="urn:a" xmlns="urn:b" x=\'1 &lt;"\' a:x="2\n3">t&amp;<!-- c -->&#x41;&#66;\r\n<c xmlns=""/><d></d ></a:r> ',
  )
  assert.deepEqual([root.namespace, root.prefix, root.name], ['urn:a', 'a', 'r'])
  assert.deepEqual(root.content, ['t&', 'AB\n', ...root.children])
  assert.deepEqual(
    [...root.attributes],
    [
      ['x', '1 <"'],
      ['{urn:a}x', '2 3'],
    ],
  )
  assert.deepEqual(
    root.children.map(({ namespace, name }) => [namespace, name]),
    [
      ['', 'c'],
      ['urn:b', 'd'],
    ],
  )
})

test('malformed or ambiguous XML is refused', () => {
  const bad = [
    ...[
      '',
      ' ',
      'x',
      '<a',
      '<a>',
      '</a>',
      '<a></b>',
      '<a/><b/>',
      '<a/>x',
      'x<a/>',
      '<a x=1/>',
      '<a x/>',
      '<a x="1"y="2"/>',
    ],
    ...[
      '<a x="1" x="1"/>',
      '<a xmlns:p="u" xmlns:q="u" p:x="1" q:x="1"/>',
      '<p:a/>',
      '<a p:x="1"/>',
      '<a:b:c/>',
      '<a x="<"/>',
    ],
    ...[
      '<a>&</a>',
      '<a>&b;</a>',
      '<a>&#0;</a>',
      '<a>&#xD800;</a>',
      '<a>&#x110000;</a>',
      '<a x="&b;"/>',
      '<a>\0</a>',
      '<a>\ud800</a>',
    ],
    ...[
      '<a>\ufffe</a>',
      '<a>]]></a>',
      '<a><![CDATA[x]]></a>',
      '<!DOCTYPE a><a/>',
      '<!doctype a><a/>',
      '<a><!ENTITY b "c"></a>',
    ],
    ...[
      '<?x y?><a/>',
      '<a><?x y?></a>',
      ' <?xml version="1.0"?><a/>',
      '<?xml version="1.1"?><a/>',
      '<a/><?xml version="1.0"?>',
    ],
    ...[
      '<a><!-- x -- y --></a>',
      '<a><!-- x</a>',
      '<a><!--></a>',
      '<1a/>',
      '<\u00e4/>',
      '<a xmlns:xml="u"/>',
      '<a xmlns:p=""/>',
    ],
  ]
  for (const xml of bad) assert.throws(() => readXml(xml), isRefused, JSON.stringify(xml))
})

test('depth and numbers of elements and attributes are limited', () => {
  const nested = (depth: number) => '<a>'.repeat(depth) + '</a>'.repeat(depth)
  const many = (count: number) => `<a>${'<b/>'.repeat(count - 1)}</a>`
  const wide = (count: number) => `<a${Array.from({ length: count }, (_, i) => ` a${i}=""`).join('')}/>`
  for (const [make, most] of [
    [nested, 64],
    [many, 4000],
    [wide, 64],
  ] as const) {
    readXml(make(most))
    assert.throws(() => readXml(make(most + 1)), isRefused)
  }
})

test('any text is read or refused in linear time', () => {
  const bits = fc.constantFrom(
    ...[
      '<',
      '>',
      '/',
      'a',
      ' ',
      '"',
      "'",
      '=',
      '&',
      ';',
      '&#',
      '<a>',
      '</a>',
      '<!--',
      '-->',
      '<a b="',
      'xmlns',
      ':',
      '\n',
      '\0',
    ],
  )
  const text = fc.oneof(
    anyText(),
    fc.array(bits, { maxLength: 60 }).map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(text, (xml) => {
      try {
        readXml(xml)
      } catch (e) {
        assert.ok(isRefused(e), String(e))
      }
    }),
    { numRuns: 2000 },
  )
  const slow = [
    '<',
    '<a ',
    '<a b',
    '<a b="',
    '<!--',
    '-',
    '&',
    '&#',
    ' ',
    '<a>',
    '</a',
    '<a b="c" ',
    "'",
    '<a:',
    '<?xml version="1.0" a="b" ',
  ]
  for (const piece of slow) {
    const started = performance.now()
    assert.throws(() => readXml(piece.repeat(Math.ceil(256_000 / piece.length))), isRefused, piece)
    assert.ok(performance.now() - started < 2000, piece)
  }
})

test('written XML is read back unchanged', () => {
  const escaped = (text: string) => text.replace(/[&<>"\t\n\r]/g, (c) => `&#${c.charCodeAt(0)};`)
  const written = ({ prefix, namespace, name, attributes, content }: XmlElement): string => {
    const pairs = [...attributes].map(([key, value]) => ` ${key}="${escaped(value)}"`).join('')
    const inside = content.map((part) => (typeof part === 'string' ? escaped(part) : written(part))).join('')
    return `<${prefix}:${name} xmlns:${prefix}="${escaped(namespace)}"${pairs}>${inside}</${prefix}:${name}>`
  }
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 })
  const name = fc.stringMatching(/^[a-w_][\w.-]{0,8}$/)
  const attributes = fc.array(fc.tuple(name, text), { maxLength: 4 }).map((entries) => new Map(entries))
  const element = fc.memo((depth): fc.Arbitrary<XmlElement> => {
    const child = depth > 1 ? fc.oneof(text, element(depth - 1)) : text
    const content = fc
      .array(child, { maxLength: 3 })
      .filter((parts) => parts.every((part, i) => typeof part !== 'string' || typeof parts[i + 1] !== 'string'))
    return fc.tuple(text, name, name, attributes, content).map(([namespace, name, prefix, attributes, content]) => {
      const children = content.filter((part) => typeof part !== 'string')
      return { namespace: `urn:${namespace}`, name, prefix, attributes, children, content }
    })
  })
  fc.assert(
    fc.property(element(4), (e) => assert.deepEqual(readXml(written(e)), e)),
    { numRuns: 300 },
  )
})
