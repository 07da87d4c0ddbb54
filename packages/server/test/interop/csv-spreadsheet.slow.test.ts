import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { csv, csvHeader } from '../../src/modules/audit/formats/csv.ts'
import { attacks, eventOf, hostileEvent, texts } from '../support/domain/hostile-events.ts'
import { runTool, without } from './tools.ts'

const separators = { comma: ',', semicolon: ';', tab: '\t' }

/** A CSV as LibreOffice opens it with one separator, quotes and UTF-8, in its flat format. */
function createSpreadsheet(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-spreadsheet-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const profile = `-env:UserInstallation=${pathToFileURL(join(directory, 'profile'))}`
  return async (name: string, separator: string, content: string): Promise<string> => {
    writeFileSync(join(directory, `${name}.csv`), content)
    // Separator, quote, UTF-8, first line; numbers are looked for, and quoted cells are no texts by themselves.
    const filter = `CSV:${separator.charCodeAt(0)},34,76,1,,0,false,true`
    const args = [profile, '--headless', `--infilter=${filter}`, '--convert-to', 'fods', `${name}.csv`]
    const { status, stderr } = await runTool('soffice', args, { cwd: directory, seconds: 180 })
    assert.equal(status, 0, stderr)
    return readFileSync(join(directory, `${name}.fods`), 'utf8')
  }
}
const formulasIn = (sheet: string) => [...sheet.matchAll(/table:formula="([^"]*)"/g)].map(([, formula]) => formula)

test('LibreOffice opens an export as CSV without a formula, whatever it takes for the separator of cells', {
  skip: without('soffice'),
  timeout: 600_000,
}, async (t) => {
  const open = createSpreadsheet(t)
  const alike = attacks.map((a) => ({ agent: a, name: a, target: a, username: a, detail: a }))
  const events = [...alike, ...fc.sample(texts, { seed: 40, numRuns: 500 })].map(hostileEvent)
  const long = Object.fromEntries(['=1+1', '+1', '-1', '@SUM(1)'].map((text) => [text, text.repeat(3000)]))
  events.push(eventOf('user.changed', { operation: 'update', user_id: 'u' }, {}, { details: { long } }))
  const content = csvHeader + events.map(csv).join('')
  for (const [name, separator] of Object.entries(separators)) {
    const control = await open(`control-${name}`, separator, `"a"${separator}"=1+1"${separator}=2+2\r\n`)
    assert.deepEqual(formulasIn(control), ['of:=1+1', 'of:=2+2'], 'where there are formulas, they are found')
    const sheet = await open(name, separator, content)
    assert.deepEqual(formulasIn(sheet), [], name)
    assert.equal(sheet.match(/<table:table-row/g)!.length >= events.length, true)
  }
})
