import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rename, unlink } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type Kek, openKek } from '@holdfast/crypto'
import { type Config, ConfigError } from './config.ts'

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

/**
 * Reads the master keys and the service secret, and makes them in the data directory (mode 0600) where none were given.
 * All other keys are derived from the master keys, so replicas that share them agree.
 */
export async function loadSecrets(env: Record<string, string | undefined>, config: Config): Promise<Secrets> {
  const text = await readOrCreate(config.masterKeyFile, () => randomBytes(32).toString('base64'))
  const { kek, masterKeys } = deriveKeys(masterKeysIn(text, config.masterKeyFile))
  const own = env.HOLDFAST_GATEWAY_SERVICE_SECRET
  const serviceSecretFile = resolve(config.dataDir, 'gateway-service.secret')
  // For the operator to read; replicas whose file has the same first line write the same.
  if (!own) await rename(await writeAside(serviceSecretFile, masterKeys[0].serviceSecret), serviceSecretFile)
  if (own && !/^[\x21-\x7e]{32,256}$/.test(own))
    throw new ConfigError(
      'HOLDFAST_GATEWAY_SERVICE_SECRET must be 32 to 256 printable characters without spaces; leave it unset to have one made.',
    )
  return {
    kek,
    masterKeys,
    adminPassword: env.HOLDFAST_ADMIN_PASSWORD,
    breakGlassPassword: env.HOLDFAST_BREAK_GLASS_PASSWORD || undefined,
    bucketCredential: bucketCredential(env, config),
    metricsToken: metricsToken(env),
    gatewayServiceSecrets: own ? [own] : masterKeys.map((k) => k.serviceSecret),
  }
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
export async function readMasterKeys(file: string): Promise<Secrets['masterKeys']> {
  const text = await readFile(file, 'utf8').catch((e: Error) => {
    throw new ConfigError(`The master key file ${file} (HOLDFAST_MASTER_KEY_FILE) can not be read: ${e.message}.`)
  })
  return deriveKeys(masterKeysIn(text.trim(), file)).masterKeys
}

function masterKeysIn(text: string, file: string): [Buffer, ...Buffer[]] {
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  const wrong = (what: string): never => {
    throw new ConfigError(`The master key file ${file} (HOLDFAST_MASTER_KEY_FILE) ${what}.`)
  }
  if (lines.length > mostKeys) wrong(`has ${lines.length} lines; at most ${mostKeys} keys are read`)
  const keys = lines.map((line, i) => {
    // A second key on the same line, where the end of the first was missing, would be passed over in silence.
    if (!/^[\w+/-]{43}=?$/.test(line)) wrong(`must hold 32 bytes in base64 on each line; line ${i + 1} does not`)
    return Buffer.from(line, 'base64')
  })
  for (const [i, key] of keys.entries())
    if (keys.findIndex((k) => k.equals(key)) < i) wrong(`has the same key twice, in line ${i + 1} again`)
  return keys as [Buffer, ...Buffer[]]
}

export function bucketCredential(env: Record<string, string | undefined>, config: Config): Secrets['bucketCredential'] {
  const { HOLDFAST_S3_ACCESS_KEY_ID: accessKeyId, HOLDFAST_S3_SECRET_ACCESS_KEY: secretAccessKey } = env
  if (!config.packages.bucket) return undefined
  if (!accessKeyId || !secretAccessKey)
    throw new ConfigError(
      'HOLDFAST_S3_BUCKET_URL needs HOLDFAST_S3_ACCESS_KEY_ID and HOLDFAST_S3_SECRET_ACCESS_KEY beside it.',
    )
  return { accessKeyId, secretAccessKey }
}

function metricsToken({ HOLDFAST_METRICS_TOKEN: token }: Record<string, string | undefined>): string | undefined {
  if (!token) return undefined
  if (!/^[\x21-\x7e]{32,256}$/.test(token))
    throw new ConfigError('HOLDFAST_METRICS_TOKEN must be 32 to 256 printable characters without spaces.')
  return token
}

/** Of two first starts at once one makes the file and both read it; it is there whole or not at all. */
async function readOrCreate(file: string, make: () => string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const read = async () => (await readFile(file, 'utf8')).trim()
  try {
    return await read()
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'ENOENT') throw e
  }
  const whole = await writeAside(file, make())
  try {
    await link(whole, file)
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'EEXIST') throw e
  } finally {
    await unlink(whole)
  }
  return read()
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
