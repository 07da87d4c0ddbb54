import { appendFileSync, createReadStream, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { runCli } from '@holdfast/cli/program'

/**
 * The command line in this process: starting Node for each of some hundred commands would take minutes. The `holdfast`
 * on the path of the shell is a script that passes its arguments, environment and streams to this one by files.
 *
 * @param read - gets all text that commands print
 */
export async function startCommands(read: (text: string) => void = () => {}) {
  const directory = process.cwd()
  const server = createServer((socket) => {
    socket.once('data', (data) => void runIn(String(data).trim(), read).then((code) => socket.end(`${code}\n`)))
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    /** The script `holdfast`. Each command has a folder for its streams in `$COMMANDS`. */
    script: script((server.address() as AddressInfo).port),
    stop: () => {
      process.chdir(directory)
      return new Promise<void>((resolve) => void server.close(() => resolve()))
    },
  }
}

const main = fileURLToPath(import.meta.resolve('@holdfast/cli/main'))

/** `watch` prints until it is stopped, so it is a process of its own. */
const script = (port: number) => `#!/usr/bin/env bash
if [ "\${1-}" = watch ]; then exec '${process.execPath}' --disable-warning=ExperimentalWarning '${main}' "$@"; fi
folder=$(mktemp -d "$COMMANDS/XXXXXX")
printf '%s\\0' "$@" > "$folder/arguments"
env -0 > "$folder/environment"
pwd > "$folder/directory"
cat > "$folder/input"
exec 9<>/dev/tcp/127.0.0.1/${port}
echo "$folder" >&9
read -r code <&9
for part in "$folder"/part-*; do
  case $part in
    *.output) cat "$part" ;;
    *.errors) cat "$part" >&2 ;;
  esac
done
exit "$code"
`

async function runIn(folder: string, read: (text: string) => void): Promise<number> {
  const parts = (name: string) => readFileSync(join(folder, name), 'utf8').split('\0').slice(0, -1)
  const env = Object.fromEntries(
    parts('environment').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  const { output, errors } = createParts(folder, read)
  process.chdir(readFileSync(join(folder, 'directory'), 'utf8').trim())
  try {
    return await runCli(parts('arguments'), { input: createReadStream(join(folder, 'input')), output, errors, env })
  } catch (error) {
    errors.write(String(error))
    return 70
  }
}

/** Returns two streams that write files in the order of the text, as it would appear on a terminal. */
function createParts(folder: string, read: (text: string) => void) {
  let count = 0
  let current = ''
  const streamOf = (kind: string) =>
    new Writable({
      write: (chunk, _encoding, done) => {
        if (current !== kind) count++
        current = kind
        appendFileSync(join(folder, `part-${String(count).padStart(4, '0')}.${kind}`), chunk)
        read(String(chunk))
        done()
      },
    })
  return { output: streamOf('output'), errors: streamOf('errors') }
}
