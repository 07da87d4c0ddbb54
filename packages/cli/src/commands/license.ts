import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  generateLicenseKey,
  type LicenseClaims,
  LicenseError,
  type LicenseKey,
  peekLicense,
  readLicenseKeys,
  signLicense,
  verifyLicense,
} from '@holdfast/crypto/license'
import { parseStrictObject } from '@holdfast/crypto/strict-json'
import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { Declined } from '../exit.ts'
import { attempt, readBytes, readText, writeKeyPair, writeNew } from '../files.ts'
import { describeLimits } from '../limits.ts'
import { examples } from '../options.ts'
import { printItem } from '../output.ts'
import { jsonText, plain } from '../text.ts'
import { addLicenseStatus } from './license-status.ts'

export function addLicense(program: Command, cli: Cli): void {
  const license = program.command('license').description('Manage the license of a deployment')
  examples(
    license
      .command('keygen')
      .description('Create a key pair that signs licenses\n\nIt needs no server.')
      .requiredOption('--out <dir>', 'folder for license-key.pem (mode 0600) and license-key.pub.pem')
      .action((options: { out: string }) => keygen(cli, options.out)),
    'license keygen --out keys',
  )
  examples(
    license
      .command('sign <claims>')
      .description('Sign a license\n\nThe claims of the license are in a JSON file. It needs no server.')
      .requiredOption('--key <file>', 'private key, created by keygen')
      .option('--out <file>', 'output file, which must not exist; default: stdout')
      .action((claims: string, options: { key: string; out?: string }) => sign(cli, claims, options)),
    'license sign claims.json --key keys/license-key.pem --out acme.license',
  )
  examples(
    license
      .command('inspect <file>')
      .description('Show the claims of a license\n\nIt needs no server.')
      .option('--keys <file>', 'public keys (PEM) that verify the signature; exit code 1 if it is invalid')
      .action((file: string, options: { keys?: string }) => inspect(cli, file, options.keys)),
    'license inspect acme.license',
    'license inspect acme.license --keys keys/license-key.pub.pem --json',
  )
  addLicenseStatus(license, cli)
}

async function keygen(cli: Cli, directory: string): Promise<void> {
  const { privateKey, publicKey, kid } = generateLicenseKey()
  const files = { private_key: join(directory, 'license-key.pem'), public_key: join(directory, 'license-key.pub.pem') }
  await attempt(`${directory} cannot be created`, () => mkdir(directory, { recursive: true, mode: 0o700 }))
  await writeKeyPair(files, { privateKey, publicKey })
  printItem(cli, { kid, ...files })
  cli.note('Anybody with the private key can issue licenses: keep it on no server. Servers need only the public key.')
}

async function sign(cli: Cli, file: string, { key, out }: { key: string; out?: string }): Promise<void> {
  // Signing checks every claim.
  const claims = parseStrictObject(await readBytes(file), file) as LicenseClaims
  const license = signLicense(claims, await readText(key))
  if (out === undefined) return cli.say(cli.json ? jsonText({ license }, 2) : license)
  await writeNew(out, `${license}\n`)
  cli.note(`Written to ${plain(out)}.`)
}

async function inspect(cli: Cli, file: string, keyFile: string | undefined): Promise<void> {
  const license = await readText(file)
  const { kid, claims } = peekLicense(license)
  const keys = keyFile === undefined ? undefined : readLicenseKeys(await readText(keyFile))
  const refusal = keys && refusalOf(license, keys)
  const signature = keys ? (refusal?.code ?? 'good') : 'not_checked'
  printItem(cli, {
    ...describe(claims),
    limits: cli.json ? claims.limits : describeLimits(claims.limits),
    features: claims.features,
    deployment_id: claims.deployment_id ?? null,
    kid,
    signature,
  })
  if (!keys) cli.note('The signature was not checked; name the public keys with --keys to check it.')
  if (!refusal) return
  cli.note(`The signature is invalid: ${refusal.message}.`)
  throw new Declined()
}

function refusalOf(license: string, keys: readonly LicenseKey[]): LicenseError | undefined {
  try {
    verifyLicense(license, keys)
  } catch (error) {
    if (error instanceof LicenseError) return error
    throw error
  }
  return undefined
}

function describe({ sub, edition, jti, iss, iat, nbf, exp, grace_days }: LicenseClaims): Record<string, string> {
  const graceEnd = exp + grace_days * 86_400
  const now = Date.now() / 1000
  return {
    customer: sub,
    edition,
    license_id: jti,
    issuer: iss,
    issued_at: timeOf(iat),
    valid_from: timeOf(nbf),
    expires_at: timeOf(exp),
    grace_ends_at: timeOf(graceEnd),
    state: now < nbf ? 'not_yet_valid' : now < exp ? 'active' : now < graceEnd ? 'grace' : 'expired',
  }
}

const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString()
