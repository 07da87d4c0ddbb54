import { createReadStream, createWriteStream, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { runCli } from '@holdfast/cli/program'

/**
 * The command line in this process: starting Node for each of some hundred commands would take minutes. The `holdfast`
 * on the path of the shell is a script that passes its arguments, environment and streams to this one by files.
 */
export async function startCommands() {
  const server = createServer((socket) => {
    socket.once('data', (data) => void runIn(String(data).trim()).then((code) => socket.end(`${code}\n`)))
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    /** The script `holdfast`. Each command has a folder for its streams in `$COMMANDS`. */
    script: script((server.address() as AddressInfo).port),
    stop: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  }
}

const script = (port: number) => `#!/usr/bin/env bash
folder=$(mktemp -d "$COMMANDS/XXXXXX")
printf '%s\\0' "$@" > "$folder/arguments"
env -0 > "$folder/environment"
pwd > "$folder/directory"
cat > "$folder/input"
exec 9<>/dev/tcp/127.0.0.1/${port}
echo "$folder" >&9
read -r code <&9
cat "$folder/output"
cat "$folder/errors" >&2
exit "$code"
`

async function runIn(folder: string): Promise<number> {
  const parts = (name: string) => readFileSync(join(folder, name), 'utf8').split('\0').slice(0, -1)
  const env = Object.fromEntries(
    parts('environment').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  const output = createWriteStream(join(folder, 'output'))
  const errors = createWriteStream(join(folder, 'errors'))
  process.chdir(readFileSync(join(folder, 'directory'), 'utf8').trim())
  try {
    return await runCli(parts('arguments'), { input: createReadStream(join(folder, 'input')), output, errors, env })
  } catch (error) {
    errors.write(String(error))
    return 70
  } finally {
    for (const stream of [output, errors]) await finished(stream.end())
  }
}
