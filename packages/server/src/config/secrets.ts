import { hkdfSync, randomBytes } from 'node:crypto'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type Kek, openKek } from '@holdfast/crypto'
import { type Config, ConfigError } from './config.ts'

/** Never logged, never serialised. */
export type Secrets = {
  /** Wraps what is stored encrypted: signing keys, replayable answers. */
  kek: Kek
  /** Keys the digests of stored tokens and session cookies. */
  pepper: Uint8Array
  /** Signs the cursors of lists. */
  cursorKey: Uint8Array
  /** The first administrator's password where the operator gives one. */
  adminPassword: string | undefined
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
  // For the operator to read; replicas write the same.
  if (gatewayServiceSecret === derived)
    await writeFile(resolve(config.dataDir, 'gateway-service.secret'), `${derived}\n`, { mode: 0o600 })
  if (!/^[\x21-\x7e]{32,256}$/.test(gatewayServiceSecret))
    throw new ConfigError(
      'HOLDFAST_GATEWAY_SERVICE_SECRET must be 32 to 256 printable characters without spaces; leave it unset to have one made.',
    )
  return {
    kek: openKek(derive('key encryption')),
    pepper: derive('token digests'),
    cursorKey: derive('cursors'),
    adminPassword: env.HOLDFAST_ADMIN_PASSWORD,
    gatewayServiceSecret,
  }
}

async function readOrCreate(file: string, make: () => string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  try {
    // Exclusive creation: of two first starts at once one makes the key and the other reads it.
    const handle = await open(file, 'wx', 0o600)
    const text = make()
    await handle.writeFile(`${text}\n`)
    await handle.sync()
    await handle.close()
    return text
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'EEXIST') throw e
    return (await readFile(file, 'utf8')).trim()
  }
}
