import assert from 'node:assert/strict'

/** Blocks of a help text without commands. */
const notCommands = /^(?:Options|Arguments|Examples|Fields|Environment|Names|Exit codes):/

/**
 * Reads the help of every top-level command, and of `ofEach` commands in each. Returns the number of commands without
 * subcommands. Their help must have an example, and no option may hide one of the program.
 */
export async function walkHelp(run: (args: string[]) => Promise<{ out: string }>, ofEach = Infinity): Promise<number> {
  const commandsIn = (out: string) =>
    out
      .split('\n\n')
      .filter((block) => /^[A-Z][a-z -]+:\n/.test(block) && !notCommands.test(block))
      .flatMap((block) => [...block.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name]) => name ?? ''))
      .filter((name) => name !== 'help')
  const optionsIn = (out: string) => [...out.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, name]) => name ?? '')
  const ofProgram = new Set(optionsIn((await run(['--help'])).out))
  ofProgram.delete('--help')
  const walk = async (path: string[]): Promise<number> => {
    const { out } = await run([...path, '--help'])
    const taken = path.length > 0 ? optionsIn(out).filter((name) => ofProgram.has(name)) : []
    assert.deepEqual(taken, [], path.join(' '))
    const children = commandsIn(out)
    if (children.length > 0) {
      let leaves = 0
      for (const child of children.slice(0, path.length === 0 ? children.length : ofEach))
        leaves += await walk([...path, child])
      return leaves
    }
    assert.match(out, new RegExp(`\\nExamples:\\n {2}\\$ (.+ \\| )?holdfast ${path.join(' ')}\\b`), path.join(' '))
    return 1
  }
  return await walk([])
}
