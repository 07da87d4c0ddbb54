import { EventEmitter } from 'node:events'
import { titleOf } from '@holdfast/cli/command-terms'
import { createProgram } from '@holdfast/cli/program'
import type { Argument, Command, Help, Option } from 'commander'

/** Folder of the pages, below `docs`. The index stands beside it. */
const folder = 'reference/cli'
const source =
  'Generated from the help texts in `packages/cli/src`. To renew: `UPDATE_GOLDEN=1 npm test -- test/reference/cli.test.ts`'
const mark = '<!-- run: none -->'

/** Returns the reference pages of the command line by their paths below `docs`: an index, and a page for each noun. */
export function cliReference(): Map<string, string> {
  const { program } = createProgram({ input: process.stdin, output: process.stdout, errors: process.stderr, env: {} })
  const nouns = childrenOf(program)
  return new Map([
    [`${folder}.md`, indexOf(program, nouns)],
    ...nouns.map((noun) => [`${folder}/${noun.name()}.md`, pageOf(noun)] as const),
  ])
}

/** Returns all commands without subcommands. */
export const leavesOf = (command: Command): Command[] => {
  const children = childrenOf(command)
  return children.length === 0 ? [command] : children.flatMap(leavesOf)
}

const childrenOf = (command: Command): readonly Command[] => command.commands
const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()

function indexOf(program: Command, nouns: readonly Command[]): string {
  const groups = Map.groupBy(nouns, (noun) => noun.helpGroup().replace(/:$/, ''))
  const tables = [...groups].flatMap(([group, of]) => [
    `## ${group}`,
    '',
    ...table(
      'command',
      of.map((noun) => [`[${noun.name()}](cli/${noun.name()}.md)`, titleOf(noun)]),
    ),
    '',
  ])
  return page([
    '# Command line reference',
    '',
    ...wrap(`For administrators who look up a command. ${source}.`),
    '',
    'Each page shows the usage, the arguments, the options, and examples. The help of a command shows the same:',
    '',
    ...fence('sh', ['holdfast --help', 'holdfast device list --help']),
    '',
    ...tables,
    '## Options of all commands',
    '',
    ...optionsTable(program),
    '',
    '## Environment, names and exit codes',
    '',
    ...fence('text', [afterHelp(program)]),
  ])
}

function pageOf(noun: Command): string {
  const leaves = leavesOf(noun)
  const isLeaf = leaves[0] === noun
  return page([
    `# holdfast ${noun.name()}`,
    '',
    ...wrap(`${source}. Options of all commands, environment and exit codes: [index](../cli.md).`),
    '',
    ...(isLeaf ? bodyOf(noun) : [...descriptionOf(noun), ...leaves.flatMap((leaf) => ['', ...sectionOf(leaf)])]),
  ])
}

const sectionOf = (command: Command): string[] => [`## ${pathOf(command)}`, '', ...bodyOf(command)]

function bodyOf(command: Command): string[] {
  const help = command.createHelp()
  const usage = help.commandUsage(command)
  const text = afterHelp(command)
  const [, examples = ''] = /(?:^|\n)Examples:\n([\s\S]+?)(?:\n\n|$)/.exec(text) ?? []
  const others = text.replace(`Examples:\n${examples}`, '').trim()
  return [
    ...descriptionOf(command),
    '',
    `Usage: ${code(usage)}`,
    ...(command.registeredArguments.some(({ description }) => description)
      ? [
          '',
          ...table(
            'argument',
            command.registeredArguments.map((one) => argumentRow(help, one)),
          ),
        ]
      : []),
    ...(command.options.length > 0 ? ['', ...optionsTable(command)] : []),
    ...(others ? ['', ...fence('text', [others])] : []),
    '',
    ...fence(
      'sh',
      examples.split('\n').map((line) => line.replace(/^ {2}\$ /, '')),
    ),
  ]
}

/** A sentence for the title, then the details. */
function descriptionOf(command: Command): string[] {
  const [, , ...details] = command.description().split('\n')
  const inCode = (line: string) => line.replaceAll(/<[\w<>/-]+>(?:\.\w+)?/g, '`$&`')
  return wrap([`${titleOf(command)}.`, ...details.map(inCode)].join(' '))
}

const argumentRow = (help: Help, one: Argument): [string, string] => [
  code(help.argumentTerm(one)),
  help.argumentDescription(one),
]
const optionRow = (help: Help, one: Option): [string, string] => [
  code(help.optionTerm(one)),
  help.optionDescription(one),
]

function optionsTable(command: Command): string[] {
  const help = command.createHelp()
  return table(
    'option',
    command.options.map((one) => optionRow(help, one)),
  )
}

const cell = (text: string) => text.replaceAll('|', '\\|')
const code = (text: string) => `\`${text}\``
const table = (name: string, rows: readonly (readonly [string, string])[]): string[] => [
  `| ${name} | meaning |`,
  '|---|---|',
  ...rows.map(([term, meaning]) => `| ${cell(term)} | ${cell(meaning)} |`),
]
const fence = (language: string, lines: readonly string[]): string[] => [`\`\`\`${language}`, ...lines, '```']
const page = (lines: readonly string[]): string => `${[mark, ...lines].join('\n').trimEnd()}\n`

/** Breaks prose into lines of at most 120 characters. */
function wrap(text: string): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? ''
    if (last !== '' && last.length + word.length + 1 > 120) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}

/** Returns the texts below the help of a command: examples, and the names of settings. */
function afterHelp(command: Command): string {
  let text = ''
  const write = (more: string) => {
    text += more
  }
  // The class of commands is an EventEmitter, which its types do not say.
  EventEmitter.prototype.emit.call(command, 'afterHelp', { error: false, command, write })
  return text.trim()
}
