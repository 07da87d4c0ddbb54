import { classes } from '../ui/classes.ts'
import { round1 } from './axis.ts'

type SparkProps = {
  data: readonly number[]
  /** Text for assistive technology. Without it the line is decoration of the figure beside it. */
  label?: string | undefined
  isInline?: boolean | undefined
}

/**
 * Line without axes beside a figure.
 *
 * @example <Spark data={sessionsByHour} label="Sessions over 24 hours" />
 */
export function Spark({ data, label, isInline = false }: SparkProps) {
  const most = Math.max(...data)
  const least = Math.min(...data, 0)
  const x = (place: number) => round1((place / Math.max(data.length - 1, 1)) * 100)
  const y = (value: number) => round1(19 - ((value - least) / (most - least || 1)) * 18)
  return (
    <svg
      className={classes('spark', isInline && 'inline')}
      viewBox="0 0 100 20"
      preserveAspectRatio="none"
      role={label === undefined ? undefined : 'img'}
      aria-label={label}
      aria-hidden={label === undefined || undefined}
    >
      <polyline className="ln" points={data.map((value, place) => `${x(place)},${y(value)}`).join(' ')} />
    </svg>
  )
}
