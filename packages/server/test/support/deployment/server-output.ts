import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable } from 'node:stream'

/** The port on which the server's process reports to listen, and all of its output. */
export function listening(child: ChildProcessByStdio<null, Readable, Readable>) {
  let output = ''
  const port = new Promise<number>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += chunk
        const [, found] = /listens on 127\.0\.0\.1:(\d+)/.exec(output) ?? []
        if (found) resolve(Number(found))
      })
    child.once('exit', (code, signal) => reject(new Error(`ended with ${signal ?? code}: ${output}`)))
  })
  return { port, output: () => output }
}
