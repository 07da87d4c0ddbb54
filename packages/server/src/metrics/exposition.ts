/** One value of a metric. `suffix` is for histograms (`_bucket`, `_sum`, `_count`). */
export type Sample = { value: number; labels?: Readonly<Record<string, string>>; suffix?: string }
export type Metric = {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  samples: readonly Sample[]
}
/** Returns the current metrics at each call. */
export type MetricSource = () => readonly Metric[] | Promise<readonly Metric[]>

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

/** Renders Prometheus' text format, version 0.0.4 (Exposition formats, "Text format details"). */
export const expose = (metrics: readonly Metric[]): string => metrics.map(exposeOne).join('')

function exposeOne({ name, help, type, samples }: Metric): string {
  const head = `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`
  return (
    head + samples.map(({ value, labels, suffix = '' }) => `${name}${suffix}${inBraces(labels)} ${value}\n`).join('')
  )
}

const escaped = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
function inBraces(labels: Sample['labels']): string {
  const pairs = Object.entries(labels ?? {})
  return pairs.length === 0
    ? ''
    : `{${pairs.map(([name, text]) => `${name}="${escaped(text).replaceAll('"', '\\"')}"`).join(',')}}`
}

export const gauge = (name: string, help: string, value: number): Metric => ({
  name,
  help,
  type: 'gauge',
  samples: [{ value }],
})
export const counter = (name: string, help: string, value: number): Metric => ({
  name,
  help,
  type: 'counter',
  samples: [{ value }],
})
/** Returns a gauge with one value per label of a fixed set. */
export const gaugesBy = (
  name: string,
  help: string,
  label: string,
  values: Readonly<Record<string, number>>,
): Metric => ({
  name,
  help,
  type: 'gauge',
  samples: Object.entries(values).map(([labelValue, value]) => ({ labels: { [label]: labelValue }, value })),
})
