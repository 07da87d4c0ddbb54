import { readFile, writeFile } from 'node:fs/promises'
import type { Row } from './rig/result.ts'

type Saved = Row & { machine: string; at: string }

/** Replaces the rows of the benchmarks that ran; those of the others stay. */
export async function saveResults(file: string, machine: string, rows: readonly Row[]): Promise<void> {
  const before = await readFile(file, 'utf8').then(
    (text) => (JSON.parse(text) as { rows: Saved[] }).rows,
    () => [],
  )
  const at = new Date().toISOString()
  const ran = new Set(rows.map(({ id }) => id))
  const all = [...before.filter(({ id }) => !ran.has(id)), ...rows.map((row) => ({ ...row, machine, at }))]
  all.sort((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }))
  await writeFile(file, `${JSON.stringify({ rows: all }, null, 2)}\n`)
}
