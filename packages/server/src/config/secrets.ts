import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, mkdir, open, rename, unlink } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type Kek, openKek } from '@holdfast/crypto'
import type { Config } from './config.ts'
import type { Env, Variable } from './env.ts'
import { readNamedFile } from './files.ts'
import { printableSecret } from './values.ts'
import { shown, wrongSetting } from './wrong-setting.ts'

/** Keys derived from one line of the master key file. `id` is that of its key-encryption key. */
type MasterKey = { id: string; pepper: KeyObject; cursorKey: KeyObject; backupKey: KeyObject; serviceSecret: string }
/** Secrets of the server. They are never logged or serialised. */
export type Secrets = {
  /** Encrypts stored secrets: signing keys, replayable responses. */
  kek: Kek
  /** The lines of the master key file. The first one encrypts; all decrypt. */
  masterKeys: readonly [MasterKey, ...MasterKey[]]
  /** The first administrator's password, if the operator sets one. */
  adminPassword: string | undefined
  /** Password of the user `break-glass`, if the operator needs recovery. */
  breakGlassPassword: string | undefined
  /** Credential of the bucket that stores packages. */
  bucketCredential: { accessKeyId: string; secretAccessKey: string } | undefined
  /** Bearer token for the metrics. Undefined: no token is needed. */
  metricsToken: string | undefined
  /** Deployment-wide gateway service secrets for operational tooling: the operator's, or else one per master key. */
  gatewayServiceSecrets: readonly string[]
}

const mostKeys = 4

/** Returns the secrets that come from the environment. */
export const givenSecrets = (env: Env, config: Config) => ({
  adminPassword: env.HOLDFAST_ADMIN_PASSWORD || undefined,
  breakGlassPassword: env.HOLDFAST_BREAK_GLASS_PASSWORD || undefined,
  bucketCredential: bucketCredential(env, config),
  metricsToken: printableSecret(env, 'HOLDFAST_METRICS_TOKEN'),
  gatewayServiceSecret: printableSecret(env, 'HOLDFAST_GATEWAY_SERVICE_SECRET'),
})

/**
 * Reads the master keys and the service secret. Creates them (mode 0600) if none exist. All other keys are derived from
 * the master keys, so replicas with the same master keys agree.
 *
 * @param keysInUse ids of the master keys that encrypt data in the database; if there are any, no key file is created
 */
export async function loadSecrets(env: Env, config: Config, keysInUse: readonly string[] = []): Promise<Secrets> {
  const { gatewayServiceSecret: own, ...given } = givenSecrets(env, config)
  const file = config.masterKeyFile
  if (keysInUse.length === 0) await writingInto('HOLDFAST_MASTER_KEY_FILE', file, () => makeMasterKey(file))
  else if (!existsSync(file))
    throw wrongSetting(
      'HOLDFAST_MASTER_KEY_FILE',
      `names the file ${shown(file)}, which does not exist (no new key was created, because the database is already encrypted)`,
      `the file with the master key of this database, whose data is encrypted with ${keysInUse.join(', ')}; see docs/master-key.md`,
    )
  const { kek, masterKeys } = deriveKeys(masterKeysIn(file))
  const serviceSecretFile = resolve(config.dataDir, 'gateway-service.secret')
  // For the operator to read. Replicas with the same first line write the same content.
  if (!own)
    await writingInto('HOLDFAST_DATA_DIR', serviceSecretFile, async () => {
      await rename(await writeAside(serviceSecretFile, masterKeys[0].serviceSecret), serviceSecretFile)
    })
  return { kek, masterKeys, ...given, gatewayServiceSecrets: own ? [own] : masterKeys.map((k) => k.serviceSecret) }
}

/** Derives all keys from master keys of 32 bytes. The first one encrypts. */
export function deriveKeys([first, ...others]: readonly [Buffer, ...Buffer[]]): Pick<Secrets, 'kek' | 'masterKeys'> {
  const derive = (master: Buffer, use: string) => Buffer.from(hkdfSync('sha256', master, '', `holdfast ${use}`, 32))
  const keyOf = (master: Buffer): MasterKey => ({
    id: openKek(derive(master, 'key encryption')).kid,
    pepper: createSecretKey(derive(master, 'token digests')),
    cursorKey: createSecretKey(derive(master, 'cursors')),
    backupKey: createSecretKey(derive(master, 'backups')),
    serviceSecret: derive(master, 'gateway service secret').toString('base64url'),
  })
  const sealedUnder = (master: Buffer) => derive(master, 'key encryption')
  return { kek: openKek(sealedUnder(first), others.map(sealedUnder)), masterKeys: [keyOf(first), ...others.map(keyOf)] }
}

/** Reads the master keys of an existing deployment. Creates none. */
export const readMasterKeys = (file: string): Secrets['masterKeys'] => deriveKeys(masterKeysIn(file)).masterKeys

const takesMasterKeys = `a file of up to ${mostKeys} lines of 32 bytes in base64`
function masterKeysIn(file: string): [Buffer, ...Buffer[]] {
  const text = readNamedFile('HOLDFAST_MASTER_KEY_FILE', file, takesMasterKeys).toString('utf8')
  const lines = text
    .trim()
    .split(/\r?\n/)
    .map((line) => line.trim())
  const wrong = (what: string): never => {
    throw wrongSetting('HOLDFAST_MASTER_KEY_FILE', `names the file ${shown(file)}, which ${what}`, takesMasterKeys)
  }
  if (lines.length > mostKeys) wrong(`has ${lines.length} lines, but at most ${mostKeys} keys are allowed`)
  const keys = lines.map((line, i) => {
    // The pattern takes the whole line: a second key on it, after a missing line end, must not be ignored.
    if (!/^[\w+/-]{43}=?$/.test(line)) wrong(`does not have 32 bytes in base64 in line ${i + 1}`)
    return Buffer.from(line, 'base64')
  })
  for (const [i, key] of keys.entries())
    if (keys.findIndex((k) => k.equals(key)) < i) wrong(`has a key twice: line ${i + 1} repeats an earlier line`)
  return keys as [Buffer, ...Buffer[]]
}

/** The configuration ensures that both are set if there is a bucket. */
export function bucketCredential(env: Env, config: Config): Secrets['bucketCredential'] {
  const { HOLDFAST_S3_ACCESS_KEY_ID: accessKeyId, HOLDFAST_S3_SECRET_ACCESS_KEY: secretAccessKey } = env
  return config.packages.bucket && accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined
}

const takesWritable = 'a path in a directory that this user may write into'
/** Creates the directory of a file, then runs `write`. */
async function writingInto(name: Variable, file: string, write: () => Promise<void>): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await write()
  } catch (e) {
    const { code, message } = e as NodeJS.ErrnoException
    throw wrongSetting(name, `leads to ${shown(file)}, which cannot be written (${code ?? message})`, takesWritable)
  }
}

/** Of two concurrent first starts one creates the file and both read it. The file appears complete or not at all. */
async function makeMasterKey(file: string): Promise<void> {
  if (existsSync(file)) return
  const whole = await writeAside(file, randomBytes(32).toString('base64'))
  try {
    await link(whole, file)
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'EEXIST') throw e
  } finally {
    await unlink(whole)
  }
}

/** Writes the text into a temporary file beside `file`, synced to disk. Returns its path. */
async function writeAside(file: string, text: string): Promise<string> {
  const aside = `${file}.${randomBytes(8).toString('hex')}`
  const handle = await open(aside, 'wx', 0o600)
  try {
    await handle.writeFile(`${text}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  return aside
}
