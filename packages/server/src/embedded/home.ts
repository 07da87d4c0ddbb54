import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accountOwning, canEnter, chooseAccount, giveTo, type OsAccount } from './account.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

/** Log of the embedded PostgreSQL. A pino logger fits. */
export interface ClusterLog {
  info(message: string): void
  warn(message: string): void
}

/**
 * Directory of one embedded PostgreSQL. `path` with the lock and the log belongs to `owner` (`null`: this process's
 * user). The cluster and the socket's directory in it belong to `account`, which runs PostgreSQL. For root the two
 * differ, so that the account cannot place a link where root writes.
 */
export interface Home {
  path: string
  owner: OsAccount
  account: OsAccount
}

/** The longest socket path in bytes that both Linux (107) and macOS (103) accept. */
const LONGEST_SOCKET_PATH = 103
export const SOCKET_NAME = '.s.PGSQL.5432'

/**
 * Finds or creates the directory of the data directory's PostgreSQL: `<dataDir>/postgres`. If the account that root
 * chooses can't reach it (a folder above admits only root), uses `/var/lib/holdfast/<name>`, and the file
 * `<dataDir>/postgres-location` stores that path for later starts.
 */
export function openHome(dataDir: string, log: ClusterLog): Home {
  const root = process.getuid?.() === 0
  mkdirSync(dataDir, { recursive: true, mode: root ? 0o711 : 0o700 })
  const directory = realpathSync(dataDir)
  const pointer = join(directory, 'postgres-location')
  if (existsSync(pointer)) return followPointer(directory, pointer)

  const inside = join(directory, 'postgres')
  const owner = accountOwning(directory)
  if (!existsSync(inside)) {
    mkdirSync(inside, { mode: root ? 0o711 : 0o700 })
    giveTo(owner, inside)
  }
  const home = describeHome(inside, chooseAccount(directory))
  if (canEnter(home.account, inside)) return home
  if (!root || existsSync(join(inside, 'cluster'))) {
    throw new EmbeddedPostgresError(
      `The account that runs PostgreSQL cannot enter ${inside}, the directory of the database: give it access.`,
    )
  }

  const outside = mkdtempSync(join(sharedDirectory(log), 'data-'))
  chmodSync(outside, 0o711)
  try {
    writeFileSync(pointer, `${outside}\n`, { flag: 'wx', flush: true })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return followPointer(directory, pointer)
    throw error
  }
  rmdirSync(inside)
  log.info(`The database is stored in ${outside}, because only root can enter ${directory}.`)
  return describeHome(outside, home.account)
}

/** The owner of an existing cluster keeps running it. */
function describeHome(path: string, account: OsAccount): Home {
  const cluster = join(path, 'cluster')
  return { path, owner: accountOwning(path), account: existsSync(cluster) ? accountOwning(cluster) : account }
}

/**
 * Follows the stored path. If it does not exist, the start fails: an empty database in place of a lost one would look
 * like success.
 */
function followPointer(directory: string, pointer: string): Home {
  const path = readFileSync(pointer, 'utf8').trim()
  if (!existsSync(path)) {
    throw new EmbeddedPostgresError(`The database of ${directory} was stored in ${path}, which no longer exists.`)
  }
  return describeHome(path, chooseAccount(directory))
}

/** Returns a directory that every account can enter and only root can change. */
export function sharedDirectory(log: ClusterLog): string {
  for (const path of ['/var/lib/holdfast', join(tmpdir(), 'holdfast-root')]) {
    try {
      mkdirSync(path, { recursive: true, mode: 0o755 })
      const { uid, mode } = lstatSync(path)
      if (uid !== 0 || mode & 0o022) continue
      chmodSync(path, 0o755)
      if (path.startsWith(tmpdir()))
        log.warn(`The database is stored in ${path}, which a reboot may delete, because /var/lib is not writable.`)
      return path
    } catch {}
  }
  throw new EmbeddedPostgresError(
    'Neither /var/lib nor the temporary directory is writable for the files of PostgreSQL.',
  )
}

/**
 * Creates the directory of the unix socket, for the account alone: inside the home, or a short path elsewhere if that
 * one is too long.
 */
export function openSocketDirectory(home: Home): string {
  const inside = join(home.path, 'socket')
  const hash = createHash('sha256').update(home.path).digest('hex').slice(0, 12)
  const path = fits(inside) ? inside : join(tmpdir(), `holdfast-${hash}`)
  if (!fits(path))
    throw new EmbeddedPostgresError(
      `The path of the temporary directory, ${tmpdir()}, is too long for a socket: set TMPDIR to a shorter path.`,
    )
  if (!lstatSync(path, { throwIfNoEntry: false })) {
    mkdirSync(path, { mode: 0o700 })
    giveTo(home.account, path)
  }
  const found = lstatSync(path)
  const uid = home.account?.uid ?? process.getuid?.()
  if (!found.isDirectory() || found.uid !== uid || found.mode & 0o077) {
    throw new EmbeddedPostgresError(
      `The socket directory ${path} is accessible to other accounts than the one that runs PostgreSQL: delete it.`,
    )
  }
  return path
}

/** Removes a socket directory outside the home after PostgreSQL has ended. */
export function closeSocketDirectory(home: Home, path: string): void {
  if (path.startsWith(home.path)) return
  try {
    rmdirSync(path)
  } catch {}
}

function fits(directory: string): boolean {
  return Buffer.byteLength(join(directory, SOCKET_NAME)) <= LONGEST_SOCKET_PATH
}
