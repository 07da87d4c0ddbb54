import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { orRefused } from '../../test/support/certificates.ts'
import { DerReader, readDer } from './der-read.ts'
import {
  bitString,
  boolean,
  element,
  generalizedTime,
  header,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  tags,
  time,
  utf8String,
} from './der-write.ts'
import { oid } from './oids.ts'

const malformed = { code: 'malformed' }
const read = <T>(hex: string | Buffer, how: (reader: DerReader) => T) =>
  readDer(typeof hex === 'string' ? Buffer.from(hex, 'hex') : hex, how)

test('object identifiers are encoded as X.690 §8.19 has it', () => {
  for (const [dotted, hex] of [
    ['2.5.4.10', '55040a'],
    ['1.2.840.113549', '2a864886f70d'],
    ['1.3.6.1.4.1.32473.1.1', '2b0601040181fd590101'],
    ['2.999', '8837'],
    ['0.0', '00'],
    ['2.16.840.1.101.3.4.2.1', '608648016503040201'],
  ] as const)
    assert.equal(oid(dotted), hex)
  for (const wrong of ['', '1', '3.1', '1.40', '1.2.', '1.2.03', '1.2.-3', '1.2.a', '2.25.340282366920938463463374607'])
    assert.throws(() => oid(wrong), RangeError, wrong)
  assert.equal(
    read(objectIdentifier('2b06'), (r) => r.oid()),
    '2b06',
  )
  for (const wrong of ['0600', '06022b86', '0602802b', '06042b808100'])
    assert.throws(() => read(wrong, (r) => r.oid()), malformed)
})

test('a length is written in its shortest form, and read in no other', () => {
  for (const length of [0, 1, 127, 128, 255, 256, 65_535, 65_536, 16_777_216]) {
    const encoded = octetString(Buffer.alloc(length, 7))
    assert.deepEqual(header(tags.octetString, length), encoded.subarray(0, encoded.length - length))
    assert.equal(read(encoded, (r) => r.content(tags.octetString)).length, length)
  }
  const odd = {
    indefinite: '0480' + '0000',
    'one octet too many': '048101' + '07',
    'a leading zero': `04820080${'00'.repeat(128)}`,
    'five octets of length': '04850000000001' + '07',
    'more than there is': '0405' + '07',
    'four gigabytes': '0484ffffffff' + '07',
    'no length': '04',
    nothing: '',
    'a long tag': '1f8104' + '00',
  }
  for (const [what, hex] of Object.entries(odd)) assert.throws(() => read(hex, (r) => r.whole()), malformed, what)
})

test('only DER is read', () => {
  for (const hex of ['020100', '0201ff'.replace('ff', '7f')]) assert.ok(read(hex, (r) => r.number()) >= 0)
  for (const wrong of ['0200', '0201ff', '02020001', '020900ffffffffffffffff', '02080020000000000000'])
    assert.throws(() => read(wrong, (r) => r.number()), malformed, wrong)
  for (const wrong of ['0100', '010101', '01020000']) assert.throws(() => read(wrong, (r) => r.boolean()), malformed)
  for (const wrong of ['0300', '03020180']) assert.throws(() => read(wrong, (r) => r.bitString()), malformed, wrong)
  for (const wrong of ['0c01ff', '0c02c080', '0c03eda080']) assert.throws(() => read(wrong, (r) => r.utf8()), malformed)
  assert.throws(() => read('0500' + '0500', (r) => r.content(tags.null)), malformed, 'what follows')
  assert.throws(() => read('3003' + '02017f', (r) => r.sequence().done()), malformed, 'what is left')
  assert.throws(() => new DerReader(Buffer.from('3004020101', 'hex')).sequence(), malformed, 'too short')
})

test('times', () => {
  for (const [hex, iso] of [
    ['170d3439313233313233353935395a', '2049-12-31T23:59:59.000Z'],
    ['170d3530303130313030303030305a', '1950-01-01T00:00:00.000Z'],
    ['180f32303530303130313030303030305a', '2050-01-01T00:00:00.000Z'],
    ['170d3234303232393030303030305a', '2024-02-29T00:00:00.000Z'],
  ] as const) {
    assert.equal(read(hex, (r) => r.time()).toISOString(), iso)
    assert.equal(time(new Date(iso)).toString('hex'), hex)
  }
  const text = (tag: number, digits: string) => element(tag, Buffer.from(digits))
  for (const wrong of ['260230000000Z', '261301000000Z', '260100000000Z', '260101240000Z', '260101006000Z'])
    assert.throws(() => read(text(tags.utcTime, wrong), (r) => r.time()), malformed, wrong)
  for (const wrong of ['2601010000Z', '260101000000', '260101000000+0100', '26010100000:Z', ''])
    assert.throws(() => read(text(tags.utcTime, wrong), (r) => r.time()), malformed, wrong)
  for (const wrong of ['20260101000000.5Z', '00500101000000Z', '260101000000Z'])
    assert.throws(() => read(text(tags.generalizedTime, wrong), (r) => r.time()), malformed, wrong)
  for (const wrong of [new Date(Number.NaN), new Date('1949-12-31T23:59:59Z'), new Date('+010000-01-01T00:00:00Z')])
    assert.throws(() => time(wrong), RangeError)
  const noFraction = (date: Date) => Math.floor(date.getTime() / 1000) * 1000
  const dates = fc.date({ min: new Date('1950-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  fc.assert(
    fc.property(dates, (date) => {
      for (const encoded of [time(date), generalizedTime(date)])
        assert.equal(read(encoded, (r) => r.time()).getTime(), noFraction(date))
    }),
  )
})

test('what is written is read back', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 1n << 160n }),
      fc.uint8Array(),
      fc.string(),
      fc.boolean(),
      (n, some, text, b) => {
        const encoded = sequence(integer(n), octetString(some), bitString(some), utf8String(text), boolean(b))
        read(encoded, (reader) => {
          const parts = reader.sequence()
          assert.equal(BigInt(`0x${parts.magnitude().toString('hex')}`), n)
          assert.deepEqual(parts.content(tags.octetString), Buffer.from(some))
          assert.deepEqual(parts.bitString(), Buffer.from(some))
          assert.equal(parts.utf8(), text)
          assert.equal(parts.boolean(), b)
          parts.done()
        })
      },
    ),
  )
  for (const wrong of [-1, -1n, 1.5, 2 ** 53]) assert.throws(() => integer(wrong), RangeError)
})

test('whatever the bytes are, reading them ends with a value or with `malformed`', () => {
  const how: readonly ((reader: DerReader) => unknown)[] = [
    (r) => r.oid(),
    (r) => r.number(),
    (r) => r.magnitude(),
    (r) => r.boolean(),
    (r) => r.bitString(),
    (r) => r.utf8(),
    (r) => r.time(),
    (r) => r.sequence().sequence().whole(),
    (r) => r.explicit(0)?.implicit(1),
  ]
  const tag = fc.constantFrom(...Object.values(tags), 0xa0)
  fc.assert(
    fc.property(tag, fc.nat(255), fc.uint8Array({ maxLength: 40 }), (first, length, rest) => {
      for (const bytes of [Buffer.of(first, length, ...rest), element(first, rest), Buffer.from(rest)])
        for (const one of how) orRefused(() => read(bytes, one))
    }),
    { numRuns: 1000 },
  )
})
