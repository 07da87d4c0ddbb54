import { existsSync, statSync } from 'node:fs'
import type { Config } from './config.ts'
import { type ConsoleBuild, readConsoleBuild } from './console-build.ts'
import { type DocsBuild, readDocsBuild } from './docs-build.ts'
import { checkDirectory, readNamedFile } from './files.ts'
import { readTlsFiles } from './tls-files.ts'
import { shown, wrongSetting } from './wrong-setting.ts'

/**
 * Checks the files that the configuration names, before anything is started or created.
 *
 * @returns the web console and the documentation, if there are any
 * @throws ConfigError about the first file that can't be used
 */
export function checkFiles({ tls, pkcs11, dataDir, packages, consoleDir, docsDir }: Config): {
  consoleBuild: ConsoleBuild | undefined
  docsBuild: DocsBuild | undefined
} {
  if (tls) readTlsFiles(tls)
  if (pkcs11) {
    checkLibrary(pkcs11.library)
    readNamedFile('HOLDFAST_PKCS11_PIN_FILE', pkcs11.pinFile, 'a file whose first line is the PIN of the token')
  }
  checkDirectory('HOLDFAST_DATA_DIR', dataDir)
  checkDirectory('HOLDFAST_PACKAGES_DIR', packages.dir)
  return {
    consoleBuild: consoleDir === undefined ? undefined : readConsoleBuild(consoleDir),
    docsBuild: docsDir === undefined ? undefined : readDocsBuild(docsDir),
  }
}

/** The system's loader searches for a name without a slash. */
function checkLibrary(library: string): void {
  if (!library.includes('/')) return
  const why = !existsSync(library) ? 'does not exist' : statSync(library).isDirectory() ? 'is a directory' : undefined
  if (why)
    throw wrongSetting(
      'HOLDFAST_PKCS11_LIBRARY',
      `names ${shown(library)}, which ${why}`,
      'the shared library of a token, such as /usr/lib/softhsm/libsofthsm2.so',
    )
}
