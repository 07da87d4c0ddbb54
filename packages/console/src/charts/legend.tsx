import type { ReactNode } from 'react'
import { classes } from '../ui/classes.ts'

/** Colours: `c1` to `c4` for series in this order; the colours of states only for states. */
export type Swatch = 'c1' | 'c2' | 'c3' | 'c4' | 'ok' | 'warn' | 'bad' | 'none'
type Entry = { id: string; swatch: Swatch; label: ReactNode }

/**
 * Explains the colours of a chart.
 *
 * @example <Legend entries={[{ id: 'running', swatch: 'c1', label: 'Running' }]} isLine />
 */
export const Legend = ({ entries, isLine = false }: { entries: readonly Entry[]; isLine?: boolean | undefined }) => (
  <ul className="legend">
    {entries.map(({ id, swatch, label }) => (
      <li key={id}>
        <span className={classes('sw', isLine && 'line', swatch !== 'c1' && swatch)} />
        {label}
      </li>
    ))}
  </ul>
)
