import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Block, matches } from './page.ts'
import { isCommand } from './pages.ts'

/** The environment of a page: the deployment, the saved sign-in of its reader, variables and files of its set-ups. */
export type Scene = {
  /** The real addresses of those that pages write. */
  readonly addresses: Readonly<Record<string, string>>
  /** Content of the configuration file of the command line. */
  readonly signIn: object
  readonly variables: Readonly<Record<string, string>>
  /** Files in the folder of the page, with their content. */
  readonly files: Readonly<Record<string, string>>
  /** Commands that follow those of the page in the same shell: they test the files that the page has made. */
  readonly checks: string
}

type Addresses = Scene['addresses']
const inReality = (text: string, addresses: Addresses): string =>
  Object.entries(addresses).reduce((result, [written, real]) => result.replaceAll(written, real), text)

/** Runs blocks of a page in one shell with the script `holdfast`. Returns the differences to what the page says. */
export async function runPage(blocks: readonly Block[], scene: Scene, command: string): Promise<Judgement> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-page-'))
  try {
    const folder = (name: string) => {
      mkdirSync(join(home, name))
      return join(home, name)
    }
    const [work, commands, outputs] = [folder('work'), folder('commands'), folder('outputs')]
    const saved = join(folder('.config'), 'holdfast')
    mkdirSync(saved)
    writeFileSync(join(saved, 'config.json'), JSON.stringify(scene.signIn), { mode: 0o600 })
    for (const [name, content] of Object.entries(scene.files)) writeFileSync(join(work, name), content, { mode: 0o600 })
    const env = {
      PATH: `${join(home, 'bin')}:${process.env.PATH}`,
      HOME: home,
      COMMANDS: commands,
      OUTPUTS: outputs,
      ...scene.variables,
    }
    writeFileSync(join(folder('bin'), 'holdfast'), command, { mode: 0o755 })
    const shell = (script: string) => runCommand('bash', ['-c', script], { cwd: work, env, timeout: 240_000 })
    return await runBlocks(blocks, { ...scene, outputs, shell })
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

type Judgement = { ran: number; problems: string[] }
type Ended = { code: number | null; output: string }
type Place = {
  /** Runs a script of bash, to which `$OUTPUTS` is a folder. */
  readonly shell: (script: string) => Promise<Ended>
  /** The same folder for this process. */
  readonly outputs: string
} & Partial<Pick<Scene, 'addresses' | 'checks'>>

/** Runs blocks of a page in one shell. Returns the differences to what the page says. */
export async function runBlocks(
  blocks: readonly Block[],
  { shell, outputs, addresses = {}, checks = '' }: Place,
): Promise<Judgement> {
  const commands = blocks.map((block) => scriptOf(block, addresses))
  const ended = await shell(['set -euo pipefail', ...commands, inReality(checks, addresses)].join('\n'))
  return judge(blocks, { ...ended, outputs, addresses })
}

function scriptOf(block: Block, addresses: Addresses): string {
  const text = inReality(block.text, addresses)
  const { file, exit, input } = block.attributes
  if (file !== undefined) return `mkdir -p "$(dirname '${file}')"\ncat > '${file}' <<'END_OF_FILE'\n${text}END_OF_FILE`
  if (!isCommand(block)) return ''
  const result = `"$OUTPUTS/${block.line}"`
  const from = input === undefined ? '/dev/null' : `<(printf '%s\\n' "${input}")`
  const save = `exec 5<&0 6>&1 7>&2 < ${from} > ${result} 2>&1`
  const restore = 'exec <&5 >&6 2>&7 5<&- 6>&- 7>&-'
  if (exit === undefined) return `${save}\n${text}${restore}\necho 0 > ${result}.code`
  return `${save}\nset +e\n${text}echo $? > ${result}.code\nset -e\n${restore}`
}

/** Runs a command. Returns its exit code and all that it printed. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; timeout: number },
): Promise<Ended> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += String(data)))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

type Result = Ended & { outputs: string; addresses: Addresses }

function judge(blocks: readonly Block[], { code, output, outputs, addresses }: Result): Judgement {
  const problems: string[] = []
  let ran = 0
  let last: { line: number; output: string } | undefined
  for (const block of blocks) {
    if (isCommand(block)) {
      const file = join(outputs, String(block.line))
      last = { line: block.line, output: existsSync(file) ? readFileSync(file, 'utf8') : '' }
      if (!existsSync(`${file}.code`)) {
        problems.push(`line ${block.line}: a command failed:\n${block.text}${last.output}${output}`)
        break
      }
      ran++
      const exit = readFileSync(`${file}.code`, 'utf8').trim()
      const expected = block.attributes.exit ?? '0'
      if (exit !== expected)
        problems.push(`line ${block.line}: exit code ${exit} instead of ${expected}:\n${last.output}`)
      continue
    }
    // Only the block directly behind the commands is their output.
    if (block.language === 'text' && last && !matches(inReality(block.text, addresses), last.output))
      problems.push(
        `line ${block.line}: the page shows\n${block.text}and the command of line ${last.line} prints\n${last.output}`,
      )
    last = undefined
  }
  if (code !== 0 && problems.length === 0) problems.push(`the shell exited with ${code}: ${output}`)
  return { ran, problems }
}
