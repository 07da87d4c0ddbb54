import assert from 'node:assert/strict'
import { PassThrough, Writable } from 'node:stream'
import { test } from 'node:test'
import type { Command } from 'commander'
import { createProgram } from './program.ts'

/** Creates the commands, with an action that only notes the path of the command. */
function createParser() {
  const chunks: string[] = []
  const output = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(String(chunk))
      done()
    },
  })
  const { program } = createProgram({ input: new PassThrough(), output, errors: output, env: {} })
  let reached = ''
  const walk = (command: Command, path: string): void => {
    if (command.commands.length === 0) {
      command.action(() => {
        reached = path
      })
    }
    for (const child of command.commands) walk(child, `${path} ${child.name()}`)
  }
  walk(program, 'holdfast')
  return {
    parse: async (args: string[]): Promise<string> => {
      reached = ''
      await program.parseAsync(args, { from: 'user' })
      return reached
    },
    helpOf: (command: Command): string => {
      chunks.length = 0
      command.outputHelp()
      return chunks.join('')
    },
    program,
  }
}

/** Returns the command lines of the examples, without what the shell does around them. */
const examplesIn = (help: string): string[] =>
  Array.from((help.split('\nExamples:\n')[1] ?? '').matchAll(/^ {2}\$ (.*)$/gm), ([, line = '']) => line)
    .map((line) => line.replaceAll(/"?\$\([^)]*\)"?/g, 'value'))
    .flatMap((line) => line.split(/ (?:\|\|?|&&) /))
    .map((line) => line.replace(/ (?:\d?>>?|<) \S+/g, '').trim())
    .filter((line) => line.startsWith('holdfast '))

const wordsOf = (line: string): string[] =>
  Array.from(line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g), ([, a, b, c]) => a ?? b ?? c ?? '').slice(1)

test('each example in the help is a command line that the command accepts', async (t) => {
  const { program, helpOf } = createParser()
  const lines: { path: string; line: string }[] = []
  const walk = (command: Command, path: string): void => {
    if (command.commands.length === 0) lines.push(...examplesIn(helpOf(command)).map((line) => ({ path, line })))
    for (const child of command.commands) walk(child, `${path} ${child.name()}`)
  }
  walk(program, 'holdfast')
  assert.ok(lines.length > 200)
  t.diagnostic(`${lines.length} examples`)
  for (const { path, line } of lines) {
    // Options keep their values from one line to the next, so each has commands of its own.
    const reached = await createParser()
      .parse(wordsOf(line))
      .catch((error: unknown) => assert.fail(`${path}: ${line}: ${String(error)}`))
    assert.ok(reached.startsWith('holdfast '), `${path}: ${line}`)
  }
})
