import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, parseConfig } from '../../../src/config/config.ts'

export type TokenOfTest = NonNullable<Config['pkcs11']>

/**
 * The PKCS#11 token for the keys of every kit, if the run names one (docs/hsm.md). Variables of a real deployment are
 * ignored.
 */
export const tokenOfRun: Config['pkcs11'] = parseConfig({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_'))),
  HOLDFAST_PKCS11_LIBRARY: process.env.HOLDFAST_TEST_PKCS11_LIBRARY,
  HOLDFAST_PKCS11_TOKEN: process.env.HOLDFAST_TEST_PKCS11_TOKEN,
  HOLDFAST_PKCS11_PIN_FILE: process.env.HOLDFAST_TEST_PKCS11_PIN_FILE,
}).pkcs11

const libraries = ['/usr/lib/softhsm', '/usr/lib/x86_64-linux-gnu/softhsm', '/usr/lib/aarch64-linux-gnu/softhsm']
/** The path of SoftHSM's library on Debian. */
export const softHsmLibrary = (): string | undefined =>
  libraries.map((folder) => join(folder, 'libsofthsm2.so')).find(existsSync)

/** A SoftHSM token in a folder of its own. */
export function createSoftHsm(label = 'holdfast') {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-softhsm-'))
  const tokens = join(folder, 'tokens')
  const conf = join(folder, 'softhsm2.conf')
  const pinFile = join(folder, 'pin')
  const pin = '1234-of-the-tests'
  mkdirSync(tokens)
  writeFileSync(conf, `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\n`)
  writeFileSync(pinFile, `${pin}\n`, { mode: 0o600 })
  const environment = { ...process.env, SOFTHSM2_CONF: conf } as Record<string, string>
  const init = ['--init-token', '--free', '--label', label, '--so-pin', 'of-the-officer', '--pin', pin]
  execFileSync('softhsm2-util', init, { env: environment, stdio: 'pipe' })
  const config: TokenOfTest = { library: softHsmLibrary() ?? '', token: label, pinFile, environment }
  const elsewhere = `${tokens}.away`
  return {
    config,
    pin,
    /** Removes the token for processes that open it from now on. */
    takeAway: () => {
      renameSync(tokens, elsewhere)
      mkdirSync(tokens)
    },
    bringBack: () => {
      rmSync(tokens, { recursive: true })
      renameSync(elsewhere, tokens)
    },
    end: () => rmSync(folder, { recursive: true, force: true }),
  }
}
