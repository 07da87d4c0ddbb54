import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExpression } from './expression.ts'
import { typeErrors } from './typing.ts'

for (const [text, ...errors] of [
  ['disk.encrypted && os.version >= "14.2" && edr.score > 70 && os.type in ["macos"] && "corp" in domain.names'],
  ['within_last(av.updated_at, 60) && client.version != os.version && geo.country == "DE" && !jailbroken'],
  ['custom.a && custom.b > 3 && within_last(custom.c, 60) && custom.d in [1, "x"] && custom.e == os.type'],
  ['disk.encrypted == "yes"', 'disk.encrypted is true or false; it never equals the text "yes"'],
  ['1 != os.version', 'os.version is a text; it never equals 1'],
  ['os.version', 'os.version is a text; compare it with a value'],
  ['!edr.score', 'edr.score is a number; compare it with a value'],
  ['disk.encrypted >= true', 'disk.encrypted is true or false; < <= > >= compare only numbers and versions'],
  ['os.version >= "Sonoma"', '"Sonoma" is not a version; < <= > >= compare only numbers and versions'],
  ['os.version >= 14', 'os.version is a text; compare it with a text such as "14"'],
  ['"70" < edr.score', 'edr.score is a number; compare it with a number'],
  ['edr.score in [true]', 'edr.score is a number; it never equals true'],
  [
    'domain.names == "corp"',
    'domain.names is a list; write "value" in domain.names',
    'domain.names is a list; it never equals the text "corp"',
  ],
  ['"x" in os.type', 'os.type is a text; "in" needs a list here'],
  ['within_last(uptime_seconds, 60)', 'uptime_seconds is a number; within_last needs a time'],
  ['edr.score == os.version', 'edr.score is a number and os.version is a text; compare facts of the same type'],
  ['av.updated_at > "1.2"', 'av.updated_at is a time; < <= > >= compare only numbers and versions'],
  ['disk.encrypt || mine.own == 1', 'unknown fact "disk.encrypt". Did you mean "disk.encrypted"?', unknown('mine.own')],
  ['__proto__ == "x"', unknown('__proto__')],
] as const)
  test(`${text}: ${errors.length} mistakes`, () => assert.deepEqual(typeErrors(parseExpression(text)), errors))

function unknown(name: string) {
  return `unknown fact "${name}"; correct it, or begin the name of your own fact with "custom."`
}
