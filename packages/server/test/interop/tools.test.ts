import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

/** Runs in a new process: results are cached in this one, where other tests also look for these programs. */
function missingWith(folder: string): string[] {
  const code = `const { missingPackages } = await import('${import.meta.dirname}/tools.ts'); console.log(missingPackages().join())`
  const env = { ...process.env, PATH: folder }
  return execFileSync(process.execPath, ['--input-type=module', '-e', code], { env, encoding: 'utf8', stdio: 'pipe' })
    .trim()
    .split(',')
}

test('a program without the plugins that the tests need counts as missing, with the packages of the plugins', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-tools-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const pki = (script: string) => {
    writeFileSync(join(folder, 'pki'), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder, 'pki'), 0o755)
    return missingWith(folder)
  }
  // Like strongswan-pki on Debian without libstrongswan-standard-plugins: it prints help, but lacks the curves.
  const missing = pki('[ "$1" = --help ]')
  assert.ok(missing.includes('strongswan-pki') && missing.includes('libstrongswan-standard-plugins'), `${missing}`)
  assert.ok(!pki('exit 0').includes('strongswan-pki'))
})
