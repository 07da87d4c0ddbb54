import { readdirSync, readFileSync } from 'node:fs'

/** Linux reports CPU times here in hundredths of a second, independently of the kernel's own tick. */
const ticksPerSecond = 100
type Process = { pid: number; parent: number; name: string; ticks: number }

/** A process and all of its descendants. */
function treeOf(root: number): Process[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? [])
  const byParent = Map.groupBy(all, ({ parent }) => parent)
  const tree = all.filter(({ pid }) => pid === root)
  for (const each of tree) tree.push(...(byParent.get(each.pid) ?? []))
  return tree
}

function readProcess(pid: number): Process | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const end = text.lastIndexOf(')')
    const fields = text.slice(end + 2).split(' ')
    // User and system time, of the process itself and of its ended children.
    const ticks = [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0)
    return { pid, parent: Number(fields[1]), name: text.slice(text.indexOf('(') + 1, end), ticks }
  } catch {
    return undefined
  }
}

/** CPU seconds that one process has used. */
export const ownCpuSeconds = (pid: number): number => (readProcess(pid)?.ticks ?? Number.NaN) / ticksPerSecond

/** CPU seconds that a server has used, including its PostgreSQL. */
export const cpuSeconds = (root: number): number =>
  treeOf(root).reduce((sum, { ticks }) => sum + ticks, 0) / ticksPerSecond

/** CPU seconds of the server's PostgreSQL alone. */
export const postgresCpuSeconds = (root: number): number =>
  treeOf(root)
    .filter(({ name }) => name.startsWith('postgres'))
    .reduce((sum, { ticks }) => sum + ticks, 0) / ticksPerSecond

/** Bytes of memory of the server's PostgreSQL; shared memory counts once. */
export const postgresBytes = (root: number): number =>
  treeOf(root)
    .filter(({ name }) => name.startsWith('postgres'))
    .reduce((sum, { pid }) => sum + proportionalBytes(pid), 0)

function proportionalBytes(pid: number): number {
  try {
    const [, kilobytes] = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? []
    return Number(kilobytes ?? 0) * 1024
  } catch {
    return 0
  }
}

/** Number of connection processes of the server's PostgreSQL. */
export const countBackends = (root: number): number =>
  treeOf(root).filter(({ pid, name }) => {
    if (!name.startsWith('postgres')) return false
    try {
      return /postgres: holdfast /.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
    } catch {
      return false
    }
  }).length
