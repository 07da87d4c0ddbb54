import { isUtf8 } from 'node:buffer'
import type { Contract, Output } from '@holdfast/contract'
import { channels } from '@holdfast/contract/devices'
import { versionOf } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { Declined, Unusable, UsageError } from '../exit.ts'
import { readBytes, writeNew } from '../files.ts'
import { choice, examples, limit, parseMoment } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'
import { readAll } from '../prompt.ts'
import { jsonText, plain, plainLines } from '../text.ts'

type Draft = Output<Contract['listPolicyDrafts']>['items'][number]
type Detail = Output<Contract['getPolicyDraft']>
type Merge = Output<Contract['mergePolicyDraft']>
const columns: readonly Column<Draft>[] = [
  ['DRAFT', (d) => d.draft_id],
  ['NAME', (d) => d.name],
  ['BASE', (d) => d.base && `${d.base.channel} ${d.base.version}`],
  ['SAVED', (d) => d.updated_at],
  ['SAVED BY', (d) => d.updated_by_name ?? d.updated_by],
  ['BYTES', (d) => d.size],
]

/** Commands for drafts: documents that administrators edit together before one of them publishes. */
export function addPolicyDraft(policy: Command, cli: Cli): void {
  const draft = policy
    .command('draft')
    .description('Manage policy drafts\n\nA draft is a document on the server that is not published.')
  addReading(draft, cli)
  addWriting(draft, cli)
}

function addReading(draft: Command, cli: Cli): void {
  limit(
    examples(draft.command('list').description('List drafts, the last saved one first'), 'policy draft list --mine'),
  )
    .option('--mine', 'only drafts that you created')
    .action(async ({ limit: most, mine }: { limit: number; mine?: boolean }) => {
      const client = await cli.client()
      const query = { ...(mine && { created_by: 'me' as const }), ...cli.scope }
      await printList(cli, most, columns, (page) => client.listPolicyDrafts({ query: { ...query, ...page } }))
    })
  examples(
    draft
      .command('show <draft>')
      .description('Show a draft')
      .option('--text', 'print only the text, exactly as saved')
      .action(async (draft_id: string, { text: isText }: { text?: boolean }) => {
        const { text, ...about } = await (await cli.client()).getPolicyDraft({ params: { draft_id }, query: cli.scope })
        if (isText) printText(cli, text)
        else printItem(cli, cli.json ? { ...about, text } : about)
      }),
    'policy draft show "wiki for all"',
    'policy draft show "wiki for all" --text > draft.json',
  )
  examples(
    draft
      .command('merge <draft>')
      .description(
        'Merge a draft with the current version of a channel\n\nNothing is saved. Exit code 1: both changed a place in different ways. The merged document then has the value of the draft.',
      )
      .addOption(choice('--channel <channel>', 'channel whose version is merged; default: stable', channels))
      .option('--out <file>', 'output file for the merged document, which must not exist')
      .action((draft_id: string, options: MergeOptions) => merge(cli, draft_id, options)),
    'policy draft merge "wiki for all" --out merged.json',
  )
}

function addWriting(draft: Command, cli: Cli): void {
  examples(
    draft
      .command('create <name> <file>')
      .description('Create a draft\n\nThe text of the file may be an invalid document; - is stdin.')
      .option('--base <bundle>', 'published version from which the draft starts')
      .action(async (name: string, file: string, { base }: { base?: string }) => {
        const body = { name, text: await readTyped(cli, file), ...(base && { base: { bundle_id: base } }) }
        printItem(cli, await (await cli.client()).createPolicyDraft({ body, query: cli.scope }))
      }),
    'policy draft create "wiki for all" policy.json --base stable',
  )
  examples(
    draft
      .command('save <draft> <file>')
      .description('Save a file as the text of a draft\n\nIt replaces the text; - is stdin.')
      .option('--name <name>', 'new name of the draft')
      .option('--base <bundle>', 'published version with which the text was merged')
      .option('--seen <time>', 'save only if the draft was last saved at this time (updated_at)', parseMoment)
      .action((draft_id: string, file: string, options: Save) => save(cli, draft_id, file, options)),
    'policy draft save "wiki for all" policy.json',
    'policy draft save "wiki for all" policy.json --seen 2030-01-31T08:00:00.000Z',
  )
  examples(
    draft
      .command('delete <draft>')
      .description('Delete a draft')
      .option('--yes', 'skip the confirmation prompt')
      .action(async (draft_id: string, { yes }: { yes?: boolean }) => {
        await cli.sure(yes, `Delete ${draft_id}?`)
        const { changed } = await (await cli.client()).deletePolicyDraft({ params: { draft_id }, query: cli.scope })
        if (cli.json) printItem(cli, { draft_id, changed })
        else cli.say(`${draft_id}  deleted${changed ? '' : '  (unchanged)'}`)
      }),
    'policy draft delete "wiki for all" --yes',
  )
}

/** Reads a text as it is. A text that is not UTF-8 could not be saved unchanged. */
async function readTyped(cli: Cli, file: string): Promise<string> {
  if (file === '-') return readAll(cli.input)
  const bytes = await readBytes(file)
  if (!isUtf8(bytes)) throw new UsageError(`${file} is not UTF-8: save it in this encoding.`)
  return bytes.toString('utf8')
}

/** On a terminal, control characters are shown as escapes. */
function printText(cli: Cli, text: string): void {
  if (!cli.output.isTTY) cli.output.write(text)
  else for (const line of plainLines(text)) cli.say(line)
}

const printSaved = (cli: Cli, { text, ...about }: Detail): void => printItem(cli, cli.json ? { ...about, text } : about)

type Save = { name?: string; base?: string; seen?: string }

async function save(cli: Cli, draft_id: string, file: string, { name, base, seen }: Save): Promise<void> {
  const text = await readTyped(cli, file)
  const client = await cli.client()
  const at = { params: { draft_id }, query: cli.scope }
  const before = await client.getPolicyDraft(at)
  if (seen !== undefined && seen !== before.updated_at) {
    const by = plain(before.updated_by_name ?? before.updated_by ?? 'another caller')
    throw new Unusable(
      `The draft was saved at ${plain(before.updated_at)} by ${by}, not at ${seen}. Compare the texts first: holdfast policy draft show ${draft_id} --text`,
    )
  }
  const { base: formerBase } = before
  const body = { text, name: name ?? before.name, base: base === undefined ? formerBase : { bundle_id: base } }
  printSaved(cli, await client.updatePolicyDraft({ ...at, body }, { ifMatch: versionOf(before) }))
}

type MergeOptions = { channel?: (typeof channels)[number]; out?: string }

async function merge(cli: Cli, draft_id: string, { channel, out }: MergeOptions): Promise<void> {
  const query = { ...given({ channel }), ...cli.scope }
  const merged = await (await cli.client()).mergePolicyDraft({ params: { draft_id }, query })
  if (out !== undefined) await writeNew(out, `${merged.text}\n`)
  if (cli.json) printItem(cli, merged)
  else for (const line of mergeLines(merged)) cli.say(line)
  if (merged.conflicts.length > 0) throw new Declined()
}

const mergeLines = ({ base, current, changed, conflicts }: Merge): string[] => [
  `Base: ${versionText(base)}. Current: ${versionText(current)}.`,
  ...conflicts.flatMap(({ part, name, ...sides }) => [
    plain(`conflict: ${part}${name === null ? '' : ` ${name}`}`),
    ...(['draft', 'published', 'base'] as const).map((side) =>
      plain(`    ${side.padEnd(9)}  ${sides[side] === null ? '(absent)' : jsonText(sides[side])}`),
    ),
  ]),
  conflicts.length > 0
    ? `${conflicts.length} ${conflicts.length === 1 ? 'conflict' : 'conflicts'}. The merged document has the values of the draft.`
    : changed
      ? 'No conflicts. The merged document has changes of the current version.'
      : 'No conflicts. The merged document is that of the draft.',
]
const versionText = (version: Merge['base']): string =>
  version === null ? 'none' : `version ${version.version} of ${plain(version.channel)}`
