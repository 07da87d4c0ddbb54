import {
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { type OsAccount, runAs } from './account.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

const USE_ANOTHER = 'set DATABASE_URL to a PostgreSQL 15 or later instead'

/**
 * Finds an installation of the bundled PostgreSQL that the account can run: the npm package in place if possible,
 * otherwise a copy under `copiesDir()`, made once per version. A copy is needed if the checkout is below a folder that
 * the account may not enter, or if the package is read-only and its library links are missing (npm --ignore-scripts).
 *
 * @returns the directory that holds `bin`, `lib` and `share`
 * @throws EmbeddedPostgresError if this platform has no bundled PostgreSQL or it does not run
 */
export function findBinaries(account: OsAccount, copiesDir: () => string): string {
  const { native, version } = findPackage()
  if (makeLinks(native) && whyNotRunnable(account, native) === null) return native
  const copy = copyOnce(native, join(copiesDir(), `postgresql-${version}`))
  const reason = whyNotRunnable(account, copy)
  if (reason === null) return copy
  throw new EmbeddedPostgresError(`The bundled PostgreSQL does not run on this system (${reason}): ${USE_ANOTHER}.`)
}

function findPackage(): { native: string; version: string } {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
    const manifest: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    return { native: join(root, 'native'), version: `${manifest.version}-${platform}-${process.arch}` }
  } catch {
    throw new EmbeddedPostgresError(`No bundled PostgreSQL is installed for this platform (${name}): ${USE_ANOTHER}.`)
  }
}

/**
 * Creates the shared libraries' version links, which an npm package cannot contain. False if the folder is read-only.
 */
function makeLinks(native: string): boolean {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return true
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    const link = join(dirname(native), target)
    if (lstatSync(link, { throwIfNoEntry: false })) continue
    try {
      symlinkSync(relative(dirname(target), source), link)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) return false
    }
  }
  return true
}

function whyNotRunnable(account: OsAccount, installation: string): string | null {
  // initdb runs a program of its own folder through a shell and does not escape these characters.
  if (/["$`\\]/.test(installation)) return `its path ${installation} contains a character that initdb does not accept`
  const probe = runAs(account, join(installation, 'bin', 'postgres'), ['--version'])
  if (probe.status === 0) return null
  return probe.error?.message ?? (probe.stderr.trim().split('\n')[0] || `it ended with ${probe.signal ?? probe.status}`)
}

/** Two starts may copy at once: each fills its own directory, and the first to rename it wins. */
function copyOnce(native: string, destination: string): string {
  if (existsSync(destination)) return destination
  mkdirSync(dirname(destination), { recursive: true })
  const staging = mkdtempSync(`${destination}.`)
  chmodSync(staging, 0o755)
  const inner = join(staging, 'native')
  cpSync(native, inner, {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    filter: (source) => !source.endsWith('.a') && basename(source) !== 'pkgconfig',
  })
  runAs(null, '/bin/chmod', ['-R', 'u+rwX,go+rX,go-w', inner])
  makeLinks(inner)
  try {
    renameSync(inner, destination)
  } catch (error) {
    if (!existsSync(destination)) throw error
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
  return destination
}
