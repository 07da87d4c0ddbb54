/** The percentile of the samples for this share (nearest rank); NaN without samples. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** A row of the summary: samples in milliseconds, or another value. */
export type Row = { name: string; samples: readonly number[] } | { name: string; value: string }

export function formatSummary(rows: readonly Row[]): string {
  const head = ['', 'count', 'p50 ms', 'p99 ms', 'max ms']
  const cells = rows.map((row) =>
    'value' in row
      ? [row.name, row.value]
      : [
          row.name,
          String(row.samples.length),
          ...[0.5, 0.99, 1].map((share) => milliseconds(percentile(row.samples, share))),
        ],
  )
  const widths = head.map((title, i) => Math.max(title.length, ...cells.map((c) => c[i]?.length ?? 0)))
  const line = (texts: readonly string[]) =>
    `  ${texts.map((text, i) => (i === 0 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0))).join('  ')}`.trimEnd()
  return [line(head), ...cells.map(line)].join('\n')
}

const milliseconds = (value: number): string => (Number.isNaN(value) ? '-' : value.toFixed(value < 10 ? 1 : 0))
