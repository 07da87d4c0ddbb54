import { ApiError } from '@holdfast/sdk'
import type { Command } from 'commander'
import { stringify } from 'yaml'
import type { Cli } from '../cli.ts'
import { currentConfig } from '../configuration/current.ts'
import type { Step } from '../configuration/differences.ts'
import { parseConfig } from '../configuration/document.ts'
import { planOf } from '../configuration/plan.ts'
import { Differs, Unusable, UsageError } from '../exit.ts'
import { readText } from '../files.ts'
import { examples } from '../options.ts'
import { cellText } from '../output.ts'
import { patient } from '../patient.ts'
import { jsonText, plain } from '../text.ts'

export function addConfig(program: Command, cli: Cli): void {
  const config = program.command('config').description('Manage the configuration of the tenant as a file')
  examples(
    config
      .command('plan <file>')
      .description(
        'List the differences between the tenant and a file\n\nThe file is YAML or JSON. Exit code 0: no differences. Exit code 2: differences. Exit code 1: the file cannot be applied, and the reasons are printed.',
      )
      .option('--remove-all-rules', 'allow a policy without rules to replace one with rules')
      .action(async (file: string, options: Options) => {
        const { steps, problems } = await read(cli, file, options)
        show(cli, steps)
        refuseProblems(problems)
        if (steps.length > 0) throw new Differs()
      }),
    'config plan holdfast.yaml',
  )
  examples(
    config
      .command('apply <file>')
      .description('Change the tenant to match a file\n\nSettings that the file does not name do not change.')
      .option('--yes', 'skip the confirmation prompt')
      .option('--remove-all-rules', 'allow a policy without rules to replace one with rules')
      .action((file: string, options: Options & { yes?: true }) => apply(cli, file, options)),
    'config apply holdfast.yaml --yes',
  )
  examples(
    config
      .command('show')
      .description('Print the configuration as a file for plan and apply')
      .action(async () => {
        const document = await currentConfig(patient(await cli.client()), cli.scope)
        cli.say(cli.json ? jsonText(document, 2) : stringify(document, { lineWidth: 0 }).replace(/\n$/, ''))
      }),
    'config show > holdfast.yaml',
  )
}

/** An unusable file is reported as `Unusable`, since the exit code of wrong use means a difference here. */
type Options = { removeAllRules?: true }
async function read(
  cli: Cli,
  file: string,
  { removeAllRules }: Options,
): Promise<{ steps: Step[]; problems: string[] }> {
  try {
    const document = parseConfig(await readText(file), file)
    return await planOf(patient(await cli.client()), document, cli.scope, { removesAllRules: removeAllRules })
  } catch (e) {
    throw e instanceof UsageError ? new Unusable(e.message) : e
  }
}

function refuseProblems(problems: readonly string[]): void {
  if (problems.length === 0) return
  const shown = problems.slice(0, mostProblems).map(plain)
  const more = problems.length > shown.length ? [`… and ${problems.length - shown.length} more`] : []
  throw new Unusable(`The file cannot be applied; nothing was changed:\n${[...shown, ...more].join('\n')}`)
}
const mostProblems = 50

async function apply(cli: Cli, file: string, { yes, ...options }: Options & { yes?: true }): Promise<void> {
  const { steps, problems } = await read(cli, file, options)
  show(cli, steps)
  refuseProblems(problems)
  if (steps.length === 0) return
  await cli.sure(yes, `Apply ${steps.length === 1 ? 'this change' : `these ${steps.length} changes`}?`)
  for (const [done, { thing, action, apply }] of steps.entries()) {
    try {
      await apply()
    } catch (e) {
      cli.hint(`${done} of ${steps.length} changes were made; the change of ${plain(thing)} failed.`)
      if (isOutdated(e)) cli.hint(`${plain(thing)} was changed after the plan was made: run config plan again.`)
      throw e
    }
    cli.note(`${plain(thing)}: ${said[action]}.`)
  }
}

/** True if the state changed after the plan was made. */
const isOutdated = (e: unknown): boolean =>
  e instanceof ApiError && e.errors.some(({ field }) => field === 'If-Match' || field === 'previous_digest')

const said = { create: 'created', update: 'changed', publish: 'published' } as const
const marks = { create: '+', update: '~', publish: '~' } as const
/** Limit of a shown value in characters. */
const longest = 80
const short = (value: unknown): string => {
  const text = cellText(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

function show(cli: Cli, steps: readonly Step[]): void {
  if (cli.json) {
    for (const { thing, action, fields } of steps) cli.say(jsonText({ thing, action, fields }))
    return
  }
  for (const { thing, action, fields } of steps) {
    cli.say(`${marks[action]} ${cli.strong(plain(thing))}`)
    for (const { field, from, to } of fields)
      cli.say(`    ${plain(field)}: ${action === 'create' ? '' : `${short(from)} -> `}${short(to)}`)
  }
  if (steps.length === 0) cli.note('The tenant already matches the file.')
}
