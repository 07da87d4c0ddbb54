import { access, constants } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Contract, Input, Output } from '@holdfast/contract'
import { packageArchitectures, packagePlatforms } from '@holdfast/contract/vocabulary'
import { uploadPackageFile } from '@holdfast/sdk'
import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { attempt, withNewFiles, write } from '../files.ts'
import { choice, examples, limit } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'
import { bytesText, plain } from '../text.ts'

type Package = Output<Contract['listPackages']>['items'][number]
type Slot = Input<Contract['uploadPackage']>['query']
const columns: readonly Column<Package>[] = [
  ['PACKAGE', (p) => p.package_id],
  ['PLATFORM', (p) => p.platform],
  ['ARCH', (p) => p.arch],
  ['FILE', (p) => p.filename],
  ['SIZE', (p) => bytesText(p.size)],
  ['SHA-256', (p) => p.sha256],
]

/** Adds commands to `holdfast release`. */
export function addReleasePackages(release: Command, cli: Cli): void {
  examples(
    release
      .command('upload <release> <file>')
      .description('Upload a file as a package of a draft')
      .addOption(choice('--platform <platform>', 'platform of the package', packagePlatforms).makeOptionMandatory())
      .addOption(
        choice(
          '--arch <arch>',
          'architecture of the package; universal: all',
          packageArchitectures,
        ).makeOptionMandatory(),
      )
      .option('--name <filename>', 'file name of the package; default: name of the file')
      .action((release_id: string, file: string, options: Pick<Slot, 'platform' | 'arch'> & { name?: string }) =>
        upload(cli, release_id, file, options),
      ),
    'release upload 1.4.0 dist/client-linux.tar.gz --platform linux --arch x64',
  )
  limit(
    examples(release.command('packages <release>'), 'release packages 1.4.0').description(
      'List the packages of a release',
    ),
  ).action(async (release_id: string, { limit: most }: { limit: number }) => {
    const client = await cli.client()
    const of = { params: { release_id } }
    await printList(cli, most, columns, (page) => client.listPackages({ ...of, query: { ...page, ...cli.scope } }))
  })
  examples(
    release
      .command('download <package> <file>')
      .description('Download a package to a new file\n\nIt can also download a package of a draft.')
      .action(async (target: string, file: string) => {
        const client = await cli.client()
        await withNewFiles([file], async () =>
          write(file, await client.updatePackage({ query: { target, ...cli.scope } })),
        )
        if (!cli.json) cli.say(`${target}  ${plain(file)}`)
      }),
    'release download pkg_01jxz3c9dqf7vr2m8k4s6t0b5w client.tar.gz',
  )
  examples(
    release
      .command('remove-package <release> <package>')
      .description('Remove a package from a draft')
      .action(async (release_id: string, package_id: string) => {
        await (await cli.client()).deletePackage({ params: { release_id, package_id }, query: cli.scope })
        if (cli.json) printItem(cli, { package_id, changed: true })
        else cli.say(`${package_id}  removed`)
      }),
    'release remove-package 1.4.0 pkg_01jxz3c9dqf7vr2m8k4s6t0b5w',
  )
}

async function upload(
  cli: Cli,
  release_id: string,
  file: string,
  { platform, arch, name }: Pick<Slot, 'platform' | 'arch'> & { name?: string },
): Promise<void> {
  const client = await cli.client()
  const query = { platform, arch, filename: name ?? basename(file), ...cli.scope }
  const progress = progressOf(cli)
  await attempt(`${file} can't be read`, () => access(file, constants.R_OK))
  const done = await uploadPackageFile(client, { params: { release_id }, query }, file, progress)
  printItem(cli, done.package)
  if (!done.changed) cli.note('The package was uploaded before. No change.')
}

/** Prints a line per tenth, on a terminal and in a log. */
function progressOf(cli: Cli): (sent: number, size: number) => void {
  let told = 0
  return (sent, size) => {
    const tenth = Math.floor((10 * sent) / size)
    if (tenth <= told) return
    told = tenth
    cli.note(`${bytesText(sent)} of ${bytesText(size)} (${tenth * 10} %)`)
  }
}
