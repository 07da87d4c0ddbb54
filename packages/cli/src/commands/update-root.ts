import type { Contract, Input } from '@holdfast/contract'
import {
  CryptoError,
  generateKey,
  importTufKey,
  type PrivateJwk,
  type Signer,
  softwareSigner,
  type TufKey,
  tufKeyId,
  tufKeyOf,
  tufSignature,
  tufSpecVersion,
} from '@holdfast/crypto'
import { writePrivateFile } from '@holdfast/sdk'
import { type Command, Option } from 'commander'
import type { Cli } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { readText, writeKeyPair, writeNew } from '../files.ts'
import { duration, examples, integer } from '../options.ts'
import { printItem } from '../output.ts'
import { jsonText, plain } from '../text.ts'

type Root = Input<Contract['replaceTufRoot']>['body']
const year = 365 * 86_400

/** Adds commands to `holdfast update`: the ceremony by which people instead of the control plane hold the root keys. */
export function addUpdateRoot(update: Command, cli: Cli): void {
  const root = update.command('root').description('Create and sign the next root\n\nPrivate keys never reach a server.')
  examples(
    root
      .command('keygen <name>')
      .description('Create a root key\n\nIt writes <name>.key (private, mode 0600) and <name>.pub. It needs no server.')
      .action((name: string) => keygen(cli, name)),
    'update root keygen anna',
  )
  examples(
    root
      .command('next <file>')
      .description(
        'Write the next root, unsigned\n\nThe root contains the root keys and the present signing keys of the server.',
      )
      .requiredOption('--key <pub...>', 'public root keys, created by keygen')
      .requiredOption('--threshold <n>', 'required number of signatures', integer(1, 16))
      .addOption(
        new Option('--expires <duration>', 'duration of its validity, from now')
          .argParser(duration)
          .default(year, '365d'),
      )
      .action((file: string, options: { key: string[]; threshold: number; expires: number }) =>
        next(cli, file, options),
      ),
    'update root next root.json --key anna.pub ben.pub cleo.pub --threshold 2',
  )
  examples(
    root
      .command('sign <file>')
      .description('Add a signature to a root\n\nIt needs no server.')
      .requiredOption('--key <file>', 'private key, created by keygen')
      .action((file: string, { key }: { key: string }) => sign(cli, file, key)),
    'update root sign root.json --key anna.key',
  )
  examples(
    root
      .command('publish <file>')
      .description(
        'Publish a signed root\n\nIt needs enough signatures of the present root keys and of its own root keys.',
      )
      .action(async (file: string) => {
        const body = await readRoot(file)
        const status = await (await cli.client()).replaceTufRoot({ body, query: cli.scope })
        const { version, roles } = status.root.signed
        printItem(cli, { root_version: version, threshold: roles.root.threshold, expires_at: status.expires_at })
      }),
    'update root publish root.json',
  )
}

async function keygen(cli: Cli, name: string): Promise<void> {
  const { publicJwk, privateJwk } = generateKey('Ed25519')
  const key = tufKeyOf(publicJwk)
  const files = { private_key: `${name}.key`, public_key: `${name}.pub` }
  await writeKeyPair(files, { privateKey: `${JSON.stringify(privateJwk)}\n`, publicKey: `${JSON.stringify(key)}\n` })
  printItem(cli, { keyid: tufKeyId(key), ...files })
  cli.note(
    'Anybody with enough of the private keys can make devices install software: give each key to one person, and keep them on no server.',
  )
}

async function next(
  cli: Cli,
  file: string,
  { key: files, threshold, expires }: { key: string[]; threshold: number; expires: number },
): Promise<void> {
  const keepers = await Promise.all(files.map(readKey))
  if (threshold > keepers.length) throw new UsageError(`A threshold of ${threshold} needs at least ${threshold} keys.`)
  const { root, online_keys: online } = await (await cli.client()).tufStatus({ query: cli.scope })
  const ids = keepers.map(tufKeyId)
  if (new Set(ids).size < ids.length) throw new UsageError('The same key is named twice.')
  const alone = (key: TufKey) => ({ keyids: [tufKeyId(key)], threshold: 1 })
  const all = [...keepers, online.targets, online.snapshot, online.timestamp]
  const signed: Root['signed'] = {
    _type: 'root',
    spec_version: tufSpecVersion,
    version: root.signed.version + 1,
    expires: `${new Date(Date.now() + expires * 1000).toISOString().slice(0, 19)}Z`,
    consistent_snapshot: true,
    keys: Object.fromEntries(all.map((key) => [tufKeyId(key), key])),
    roles: {
      root: { keyids: ids, threshold },
      targets: alone(online.targets),
      snapshot: alone(online.snapshot),
      timestamp: alone(online.timestamp),
    },
  }
  await writeNew(file, `${JSON.stringify({ signed, signatures: [] }, null, 2)}\n`)
  printItem(cli, { file, root_version: signed.version, threshold, keyids: ids, expires: signed.expires })
  cli.note(
    `The key holders of root ${root.signed.version} and of this root must sign it now: holdfast update root sign ${plain(file)} --key …`,
  )
}

async function sign(cli: Cli, file: string, keyFile: string): Promise<void> {
  const root = await readRoot(file)
  const signature = await tufSignature(root.signed, await readPrivateKey(keyFile))
  const signatures = [...root.signatures.filter(({ keyid }) => keyid !== signature.keyid), signature]
  await writePrivateFile(file, `${jsonText({ ...root, signatures }, 2)}\n`)
  printItem(cli, { file, root_version: root.signed.version, keyid: signature.keyid, signatures: signatures.length })
}

async function readRoot(file: string): Promise<Root> {
  const root = parse(await readText(file), file) as Partial<Root>
  if (root.signed?._type !== 'root' || !Array.isArray(root.signatures))
    throw new UsageError(`${file} is not a TUF root.`)
  return root as Root
}

async function readPrivateKey(file: string): Promise<Signer> {
  const privateJwk = parse(await readText(file), file) as PrivateJwk
  try {
    return softwareSigner('tuf-root', privateJwk)
  } catch (e) {
    if (!(e instanceof CryptoError)) throw e
    throw new UsageError(`${file} is not a private key that keygen created.`)
  }
}

async function readKey(file: string): Promise<TufKey> {
  const key = parse(await readText(file), file) as TufKey
  if (typeof key?.keyval?.public !== 'string' || !importTufKey(key))
    throw new UsageError(`${file} is not a public key that keygen created.`)
  return key
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${file} is not JSON.`)
  }
}
