import { arch, availableParallelism, cpus, platform } from 'node:os'
import type { Row } from './rig/result.ts'

export const describeMachine = (): string =>
  `Node ${process.version}, ${platform()}-${arch()}, ${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown processor'}`

const columns = ['', 'work', 'figure', 'baseline', 'ratio', 'target', 'verdict'] as const

/** One line per row, with notes below. */
export function formatTable(rows: readonly Row[]): string {
  const cells = rows.map((r) => [r.id, r.work, r.figure, r.baseline, r.ratio?.toFixed(2) ?? '–', r.target, r.verdict])
  const widths = columns.map((title, i) => Math.max(title.length, ...cells.map((c) => c[i]?.length ?? 0)))
  const line = (values: readonly string[]) =>
    `${values
      .map((v, i) => v.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()}\n`
  const body = cells.map((c, i) => line(c) + (rows[i]?.note ? `      ${rows[i].note}\n` : ''))
  return line(columns) + line(widths.map((w) => '─'.repeat(w))) + body.join('')
}
