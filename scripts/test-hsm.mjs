// node scripts/run.mjs scripts/test-hsm.mjs [files…]: runs the API tests, or the given ones, with every signing key in
// a token: a SoftHSM token created for this run, or the token of HOLDFAST_TEST_PKCS11_LIBRARY, _TOKEN and _PIN_FILE.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createSoftHsm, softHsmLibrary, tokenOfRun } from '../packages/server/test/support/deployment/pkcs11-token.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const given = process.argv.slice(2)
const files =
  given.length > 0
    ? given
    : globSync('packages/server/test/api/*.test.ts', { cwd: root, exclude: ['**/*.slow.test.ts'] }).sort()

if (!tokenOfRun && !softHsmLibrary()) {
  process.stderr.write('SoftHSM is not installed (Debian package softhsm2).\n')
  process.exit(1)
}
const hsm = tokenOfRun ? undefined : createSoftHsm()
try {
  const { library, token, pinFile, environment } = tokenOfRun ?? hsm.config
  const { status } = spawnSync(process.execPath, [join(root, 'scripts/test.mjs'), ...files], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...environment,
      HOLDFAST_TEST_PKCS11_LIBRARY: library,
      HOLDFAST_TEST_PKCS11_TOKEN: token,
      HOLDFAST_TEST_PKCS11_PIN_FILE: pinFile,
    },
  })
  process.exitCode = status ?? 1
} finally {
  hsm?.end()
}
