import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExpression } from './expression.ts'
import { typeErrors } from './typing.ts'

for (const [text, ...errors] of [
  ['disk.encrypted && os.version >= "14.2" && edr.score > 70 && os.type in ["macos"] && "corp" in domain.names'],
  ['within_last(av.updated_at, 60) && client.version != os.version && geo.country == "DE" && !jailbroken'],
  ['custom.a && custom.b > 3 && within_last(custom.c, 60) && custom.d in [1, "x"] && custom.e == os.type'],
  ['disk.encrypted == "yes"', 'disk.encrypted is true or false, never "yes"'],
  ['1 != os.version', 'os.version is a text, never 1'],
  ['os.version', 'os.version is a text, so it is not a condition by itself; compare it'],
  ['!edr.score', 'edr.score is a number, so it is not a condition by itself; compare it'],
  ['disk.encrypted >= true', 'disk.encrypted is true or false; only numbers and versions have an order'],
  ['os.version >= "Sonoma"', '"Sonoma" is not a version, so it has no order'],
  ['edr.score in [true]', 'edr.score is a number, never true'],
  ['domain.names == "corp"', 'domain.names is a list; write "value" in it', 'domain.names is a list, never "corp"'],
  ['"x" in os.type', 'os.type is a text, which holds nothing'],
  ['within_last(uptime_seconds, 60)', 'uptime_seconds is a number, which was never'],
  ['edr.score == os.version', 'edr.score is a number and os.version a text'],
  ['av.updated_at > "1.2"', 'av.updated_at is a time; only numbers and versions have an order'],
  ['disk.encrypt || mine.own == 1', ...['disk.encrypt', 'mine.own'].map(unknown)],
  ['__proto__ == "x"', unknown('__proto__')],
] as const)
  test(`${text}: ${errors.length} mistakes`, () => assert.deepEqual(typeErrors(parseExpression(text)), errors))

function unknown(name: string) {
  return `no device reports a fact called "${name}"; your own begin with "custom."`
}
