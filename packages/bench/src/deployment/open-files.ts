import { execFileSync } from 'node:child_process'

/** How many files and sockets a process that we start may have open. */
export function openFilesAtMost(): number {
  const said = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
  return said === 'unlimited' ? Number.POSITIVE_INFINITY : Number(said)
}

/** Connections that a process may hold beside what else it has open. */
export const connectionsAtMost = (): number => Math.floor(openFilesAtMost() * 0.9)
