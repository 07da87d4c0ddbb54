import { execFileSync } from 'node:child_process'

/** Maximum number of files and sockets that a process started by us may have open. */
export function openFilesAtMost(): number {
  const said = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
  return said === 'unlimited' ? Number.POSITIVE_INFINITY : Number(said)
}

/** Maximum number of connections of a process; the rest of its limit is left for other files. */
export const connectionsAtMost = (): number => Math.floor(openFilesAtMost() * 0.9)
