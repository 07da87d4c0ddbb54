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

/** What is derived from one line of the master key file. `id` is that of its key-encryption key. */
type MasterKey = { id: string; pepper: KeyObject; cursorKey: KeyObject; backupKey: KeyObject; serviceSecret: string }
/** Never logged, never serialised. */
export type Secrets = {
  /** Wraps what is stored encrypted: signing keys, replayable answers. */
  kek: Kek
  /** The lines of the master key file: the first one writes, all are read. */
  masterKeys: readonly [MasterKey, ...MasterKey[]]
  /** The first administrator's password where the operator gives one. */
  adminPassword: string | undefined
  /** Of the user `break-glass`, where the operator needs a way back in. */
  breakGlassPassword: string | undefined
  /** Of the bucket that keeps packages. */
  bucketCredential: { accessKeyId: string; secretAccessKey: string } | undefined
  /** What opens the metrics; undefined: whoever reaches their port. */
  metricsToken: string | undefined
  /** Deployment-wide gateway service secrets for operational tooling: the operator's, or one of each master key. */
  gatewayServiceSecrets: readonly string[]
}

const mostKeys = 4

/** Secrets that the environment alone gives. */
export const givenSecrets = (env: Env, config: Config) => ({
  adminPassword: env.HOLDFAST_ADMIN_PASSWORD || undefined,
  breakGlassPassword: env.HOLDFAST_BREAK_GLASS_PASSWORD || undefined,
  bucketCredential: bucketCredential(env, config),
  metricsToken: printableSecret(env, 'HOLDFAST_METRICS_TOKEN'),
  gatewayServiceSecret: printableSecret(env, 'HOLDFAST_GATEWAY_SERVICE_SECRET'),
})

/**
 * Reads the master keys and the service secret, and makes them (mode 0600) where none were given. All other keys are
 * derived from the master keys, so replicas that share them agree.
 *
 * @param keysInUse the ids of the master keys under which the database has data: with one of them no file is made
 */
export async function loadSecrets(env: Env, config: Config, keysInUse: readonly string[] = []): Promise<Secrets> {
  const { gatewayServiceSecret: own, ...given } = givenSecrets(env, config)
  const file = config.masterKeyFile
  if (keysInUse.length === 0) await writingInto('HOLDFAST_MASTER_KEY_FILE', file, () => makeMasterKey(file))
  else if (!existsSync(file))
    throw wrongSetting(
      'HOLDFAST_MASTER_KEY_FILE',
      `names the file ${shown(file)}, which does not exist (no new key was written there)`,
      `the file with the master key of this database, which has data under ${keysInUse.join(', ')}; see docs/master-key.md`,
    )
  const { kek, masterKeys } = deriveKeys(masterKeysIn(file))
  const serviceSecretFile = resolve(config.dataDir, 'gateway-service.secret')
  // For the operator to read; replicas whose file has the same first line write the same.
  if (!own)
    await writingInto('HOLDFAST_DATA_DIR', serviceSecretFile, async () => {
      await rename(await writeAside(serviceSecretFile, masterKeys[0].serviceSecret), serviceSecretFile)
    })
  return { kek, masterKeys, ...given, gatewayServiceSecrets: own ? [own] : masterKeys.map((k) => k.serviceSecret) }
}

/** Of 32 bytes each, the one that writes first. */
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

/** The master keys of a deployment that is there already: none are made. */
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
  if (lines.length > mostKeys) wrong(`has ${lines.length} lines; at most ${mostKeys} keys are read`)
  const keys = lines.map((line, i) => {
    // A second key on the same line, where the end of the first was missing, would be passed over in silence.
    if (!/^[\w+/-]{43}=?$/.test(line)) wrong(`has no 32 bytes in base64 in line ${i + 1}`)
    return Buffer.from(line, 'base64')
  })
  for (const [i, key] of keys.entries())
    if (keys.findIndex((k) => k.equals(key)) < i) wrong(`has the same key twice, in line ${i + 1} again`)
  return keys as [Buffer, ...Buffer[]]
}

/** The configuration has them both where there is a bucket. */
export function bucketCredential(env: Env, config: Config): Secrets['bucketCredential'] {
  const { HOLDFAST_S3_ACCESS_KEY_ID: accessKeyId, HOLDFAST_S3_SECRET_ACCESS_KEY: secretAccessKey } = env
  return config.packages.bucket && accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined
}

const takesWritable = 'a path in a directory that this user may write into'
/** Makes the directory of a file, and writes there. */
async function writingInto(name: Variable, file: string, write: () => Promise<void>): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await write()
  } catch (e) {
    const { code, message } = e as NodeJS.ErrnoException
    throw wrongSetting(name, `leads to ${shown(file)}, which can not be written (${code ?? message})`, takesWritable)
  }
}

/** Of two first starts at once one makes the file and both read it; it is there whole or not at all. */
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

/** The text in a file of its own beside `file`, on disk. */
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
