import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { type Endpoint, operations } from '@holdfast/contract'
import { Id } from '@holdfast/contract/schema'
import { idPrefixes, type Noun } from '@holdfast/contract/vocabulary'
import type { Argument, Command, Option } from 'commander'
import { type Answered, type Asked, startServer, startShell } from '../test/support/shell.ts'
import { createProgram } from './program.ts'

/** Placeholders for ids in commands, and their nouns. */
const nounOfWord: Record<string, Noun> = {
  tenant: 'tenant',
  plan: 'plan',
  user: 'user',
  group: 'group',
  'value=group': 'group',
  device: 'device',
  gateway: 'gateway',
  pool: 'gateway_pool',
  token: 'enrollment_token',
  key: 'api_key',
  provider: 'identity_provider',
  connector: 'siem_connector',
  directory: 'directory_source',
  release: 'release',
  package: 'package',
  bundle: 'policy_bundle',
  session: 'vpn_session',
  lock: 'lock',
  'legal-hold': 'legal_hold',
  spc: 'spc',
  signer: 'signer',
  run: 'workflow_run',
  event_id: 'audit_event',
  notification_id: 'notification',
  view: 'view',
  draft: 'policy_draft',
  // Actor and target of events: here a user.
  ...({ actor: 'user', target: 'user' } as const),
}
/** Placeholders for other values. Every new one must be in one of these two tables. */
const plainWords = new Set(
  `name username file url text n time duration prefix value=role kinds type types address words network seq buckets
   tag q description email days percent id claims dir nonce number city host port metric=number class=days
   section.field=value host:port/proto workflow playbook parameter operation role purpose version filename sub code value
   bytes seconds sessions request_id minutes public-key pub threshold claim scope age1… reason`.split(/\s+/),
)
/** The same placeholders in places where they stand for something without an id, or for a new thing. */
const plainAt = new Set([
  'directory source create <directory>',
  'directory runs --provider',
  'device enroll --provider',
  'policy explain <target>',
  'policy who-reaches <target>',
  'policy simulate --target',
  'gateway create --public-key',
  'gateway update --public-key',
  'gateway approve --public-key',
  'license sign --key',
  'update root next --key',
  'update root sign --key',
])
const nounAt: Record<string, Noun> = {
  'lock create <target>': 'device',
  'auth end <session>': 'admin_session',
  'directory show <run>': 'directory_run',
  'directory cancel <run>': 'directory_run',
  'directory confirm <run>': 'directory_run',
  'directory undo <run>': 'directory_run',
}
const nameless: readonly Noun[] = ['package', 'signer', 'workflow_run', 'directory_run', 'audit_event', 'notification']

type Parameter = {
  at: string
  command: Command
  argument: Argument | undefined
  option: Option | undefined
  noun: Noun
}
type Done = { code: number; err: string; writes: number; last: Asked | undefined }

const pathOf = (command: Command): string[] => (command.parent ? [...pathOf(command.parent), command.name()] : [])
const leavesOf = (command: Command): Command[] =>
  command.commands.length > 0 ? command.commands.flatMap(leavesOf) : [command]

function parametersOf(command: Command): Parameter[] {
  const path = pathOf(command).join(' ')
  const parameters = [
    ...command.registeredArguments.map((argument) => ({
      argument,
      option: undefined,
      word: argument.name(),
      at: `${path} <${argument.name()}>`,
    })),
    ...command.options.flatMap((option) => {
      const [, word] = /<([^>]+?)(?:\.\.\.)?>$/.exec(option.flags) ?? []
      return word === undefined ? [] : [{ argument: undefined, option, word, at: `${path} ${option.long}` }]
    }),
  ]
  return parameters.flatMap(({ word, at, ...parameter }): Parameter[] => {
    const { argChoices: chosen } = (parameter.option ?? parameter.argument) as { argChoices?: readonly string[] }
    if (chosen || plainAt.has(at)) return []
    const noun = nounAt[at] ?? nounOfWord[word]
    if (noun) return [{ at, command, noun, ...parameter }]
    assert.ok(plainWords.has(word), `${at}: say in this test whether <${word}> takes an id`)
    return []
  })
}

/** Returns the first example in a command's help, as the words after the command's own. */
function exampleOf(command: Command): string[] {
  let help = ''
  command.configureOutput({
    writeOut: (text) => {
      help += text
    },
  })
  command.outputHelp()
  const path = pathOf(command).join(' ')
  const [, line = ''] = new RegExp(`^  \\$ (?:.+ \\| )?holdfast ${path}\\b(.*)$`, 'm').exec(help) ?? []
  const words = [...line.replace(/ [<>|] .*$/, '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)]
  return words.map(([, a, b, c]) => a ?? b ?? c ?? '')
}

type Given = { positionals: string[]; options: [Option, string[]][] }
function parsed({ options }: Command, words: readonly string[]): Given {
  const given: Given = { positionals: [], options: [] }
  for (let n = 0; n < words.length; n++) {
    const option = options.find(({ long }) => long === words[n])
    if (!option) given.positionals.push(words[n]!)
    else {
      const values: string[] = []
      const takes = option.required || option.optional ? (option.variadic ? Infinity : 1) : 0
      while (values.length < takes && words[n + 1] !== undefined && !words[n + 1]!.startsWith('--'))
        values.push(words[++n]!)
      given.options.push([option, values])
    }
  }
  return given
}

const wordsOf = ({ positionals, options }: Given): string[] => [
  ...positionals,
  ...options.flatMap(([{ long }, values]) => [long!, ...values]),
]

/** Returns the example with this value for the parameter; second, without the other named things. */
function linesWith({ command, argument, option, at }: Parameter, value: string): string[][] {
  const given = parsed(command, exampleOf(command))
  const text = at.endsWith('--map-group') ? `/x=${value}` : value
  const ask = command.options.filter(({ long }) => long === '--yes').map((yes): [Option, string[]] => [yes, []])
  const others = given.options.filter(([one]) => one !== option && one.long !== '--yes')
  if (option) {
    const mandatory = others.filter(([one]) => one.mandatory)
    const required = given.positionals.slice(0, command.registeredArguments.filter((a) => a.required).length)
    return [
      wordsOf({ positionals: given.positionals, options: [...others, [option, [text]], ...ask] }),
      wordsOf({ positionals: required, options: [...mandatory, [option, [text]], ...ask] }),
    ]
  }
  const position = command.registeredArguments.indexOf(argument!)
  const positionals = given.positionals.slice(0, position)
  const rest = argument!.variadic ? [] : given.positionals.slice(position + 1)
  const options: [Option, string[]][] = [...others, ...ask]
  const line = { positionals: [...positionals, text, ...rest], options }
  return [
    wordsOf(line),
    wordsOf({
      ...line,
      options: options.filter(([one]) => one.mandatory || ['--yes', '--dry-run'].includes(one.long!)),
    }),
  ]
}

type Schema = { title?: string; properties?: Record<string, Schema>; items?: Schema }
const nounOfTitle = new Map((Object.keys(idPrefixes) as Noun[]).map((noun) => [(Id(noun) as Schema).title, noun]))
const routes = operations.map(([name, endpoint]) => ({
  name,
  endpoint: endpoint as Endpoint,
  pattern: new RegExp(
    `^${endpoint.method} ${endpoint.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/?]+')}(\\?.*)?$`,
  ),
}))
const routeOf = (line: string) => routes.find(({ pattern }) => pattern.test(line))

/** For a list: the noun of its items, and their id field. */
function listed({ response }: Endpoint): [field: string, Noun] | undefined {
  const { properties = {} } = ((response as Schema).properties?.items?.items ?? {}) as Schema
  const [field, schema] = Object.entries(properties)[0] ?? []
  const noun = nounOfTitle.get(schema?.title)
  return field !== undefined && noun ? [field, noun] : undefined
}

/** Number of things per name and noun. */
type Names = (noun: Noun) => readonly (readonly [name: string, times: number])[]

function answerOf({ line }: Asked, names: Names): Answered {
  const [field, noun] = listed(routeOf(line)?.endpoint ?? ({} as Endpoint)) ?? []
  const items = !field
    ? []
    : names(noun!).flatMap(([name, times]) =>
        Array.from({ length: times }, (_, n) => ({
          name,
          username: name,
          email: null,
          version: name,
          provider: name,
          channel: 'stable',
          current: false,
          status: 'active',
          released_at: null,
          subject_name: name,
          target: { name },
          linked_users: 0,
          [field]: `${idPrefixes[noun!]}_${name}${n || ''}`,
        })),
      )
  return { body: { items, next_cursor: null } }
}
const ownersOf: Partial<Record<Noun, Noun>> = {
  vpn_session: 'device',
  spc: 'device',
  admin_session: 'user',
  gateway: 'gateway_pool',
}

test('every argument and option that takes an id takes a name, and reports an unknown or ambiguous one', async (t) => {
  const { program } = createProgram({
    input: new PassThrough(),
    output: new PassThrough(),
    errors: new PassThrough(),
    env: {},
  })
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-names-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'there'), '{}')
  let names: Names = () => []
  let wanted = ''
  const { url, asked } = await startServer(t, (one) => {
    const isWanted = wanted !== '' && JSON.stringify([one.line, one.body]).includes(wanted)
    // The result of the command does not matter here. One that asks forever is stopped.
    return isWanted || asked.length > 30
      ? { status: 403, body: { error: 'forbidden', detail: 'asked', request_id: 'r' } }
      : answerOf(one, names)
  })
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  let files = 0
  const fileFor = (word: string, before: string | undefined) => {
    if (!/^[\w./-]+\.(json|pem|txt|csr|gz|key|pub|yaml|csv)$/.test(word)) return word
    return join(
      folder,
      /^--(out|new-key|keep)$/.test(before ?? '') || word === 'client.tar.gz' ? `new-${files++}` : 'there',
    )
  }

  const parameters = leavesOf(program).flatMap(parametersOf)
  assert.ok(parameters.length > 120, `${parameters.length}`)
  const wrong: string[] = []
  const tried = new Set<Noun>()
  for (const parameter of parameters) {
    const { noun, at, command } = parameter
    const name = 'nobody-there'
    const others = exampleOf(command).map((word) => word.replace(/^.*=/, ''))
    /** The names of the example exist; the tested one exists `times` times. */
    const there = (times: number): Names => {
      const owner = ownersOf[noun]
      return (of) => [
        ...(of === noun && owner ? [] : others.map((other) => [other, 1] as const)),
        ...(of === noun ? [[name, times] as const] : []),
        ...(of === owner ? [[name, Math.min(times, 1)] as const] : []),
      ]
    }
    /** Returns a description of the result, unless one of the lines succeeds. */
    const attempt = async (what: string, times: number, id: string, isRight: (done: Done) => boolean) => {
      names = there(times)
      wanted = id
      const lines: string[] = []
      for (const words of linesWith(parameter, name)) {
        asked.length = 0
        const line = [
          ...pathOf(command),
          ...words.map((word, n) => (word.includes('.') ? fileFor(word, words[n - 1]) : word)),
        ]
        const { code, err } = await run(line, { stdin: '123456\n123456\n' })
        if (
          isRight({ code, err, writes: asked.filter((one) => !one.line.startsWith('GET ')).length, last: asked.at(-1) })
        )
          return
        lines.push(`${line.join(' ')}: ${code} ${err}`)
      }
      wrong.push(`${at}: ${what}: ${lines.join(' ')}`)
    }
    await attempt('of no such name', 0, '', ({ code, err, writes }) => code === 3 && err.includes(name) && writes === 0)
    if (nameless.includes(noun)) continue
    const id = `${idPrefixes[noun]}_${name}`
    await attempt('by name', 1, id, ({ last }) => JSON.stringify(last ?? '').includes(id))
    if (tried.has(noun)) continue
    tried.add(noun)
    const both = [id, `${id}1`]
    await attempt(
      'of two',
      2,
      '',
      ({ code, err, writes }) => code === 2 && both.every((one) => err.includes(one)) && writes === 0,
    )
  }
  assert.deepEqual(wrong, [])
})
