import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rename, unlink } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type Kek, openKek } from '@holdfast/crypto'
import { type Config, ConfigError } from './config.ts'

/** Never logged, never serialised. */
export type Secrets = {
  /** Wraps what is stored encrypted: signing keys, replayable answers. */
  kek: Kek
  /** Keys the digests of stored tokens and session cookies. */
  pepper: KeyObject
  /** Signs the cursors of lists. */
  cursorKey: KeyObject
  /** The first administrator's password where the operator gives one. */
  adminPassword: string | undefined
  /** Of the user `break-glass`, where the operator needs a way back in. */
  breakGlassPassword: string | undefined
  /** Of the bucket that keeps packages. */
  bucketCredential: { accessKeyId: string; secretAccessKey: string } | undefined
  /** Deployment-wide gateway service secret for operational tooling. */
  gatewayServiceSecret: string
}

/**
 * Reads the master key and the service secret, and makes them in the data directory (mode 0600) where none were given.
 * All other keys are derived from the master key, so replicas that share it agree.
 */
export async function loadSecrets(env: Record<string, string | undefined>, config: Config): Promise<Secrets> {
  const text = await readOrCreate(config.masterKeyFile, () => randomBytes(32).toString('base64'))
  const master = Buffer.from(text, 'base64')
  if (master.length !== 32)
    throw new ConfigError(
      `The master key in ${config.masterKeyFile} must be 32 bytes in base64 (HOLDFAST_MASTER_KEY_FILE).`,
    )
  const derive = (use: string) => new Uint8Array(hkdfSync('sha256', master, '', `holdfast ${use}`, 32))
  const derived = Buffer.from(derive('gateway service secret')).toString('base64url')
  const gatewayServiceSecret = env.HOLDFAST_GATEWAY_SERVICE_SECRET || derived
  const serviceSecretFile = resolve(config.dataDir, 'gateway-service.secret')
  // For the operator to read; replicas write the same.
  if (gatewayServiceSecret === derived) await rename(await writeAside(serviceSecretFile, derived), serviceSecretFile)
  if (!/^[\x21-\x7e]{32,256}$/.test(gatewayServiceSecret))
    throw new ConfigError(
      'HOLDFAST_GATEWAY_SERVICE_SECRET must be 32 to 256 printable characters without spaces; leave it unset to have one made.',
    )
  return {
    kek: openKek(derive('key encryption')),
    pepper: createSecretKey(derive('token digests')),
    cursorKey: createSecretKey(derive('cursors')),
    adminPassword: env.HOLDFAST_ADMIN_PASSWORD,
    breakGlassPassword: env.HOLDFAST_BREAK_GLASS_PASSWORD || undefined,
    bucketCredential: bucketCredential(env, config),
    gatewayServiceSecret,
  }
}

function bucketCredential(env: Record<string, string | undefined>, config: Config): Secrets['bucketCredential'] {
  const { HOLDFAST_S3_ACCESS_KEY_ID: accessKeyId, HOLDFAST_S3_SECRET_ACCESS_KEY: secretAccessKey } = env
  if (!config.packages.bucket) return undefined
  if (!accessKeyId || !secretAccessKey)
    throw new ConfigError(
      'HOLDFAST_S3_BUCKET_URL needs HOLDFAST_S3_ACCESS_KEY_ID and HOLDFAST_S3_SECRET_ACCESS_KEY beside it.',
    )
  return { accessKeyId, secretAccessKey }
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
