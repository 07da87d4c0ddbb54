import type { ReactNode } from 'react'
import { classes } from '../ui/classes.ts'

/** Colours in their order for series; those of states only for states. */
export type Swatch = 'c1' | 'c2' | 'c3' | 'c4' | 'ok' | 'warn' | 'bad' | 'none'
type Entry = { id: string; swatch: Swatch; label: ReactNode }

/**
 * Says which colour is which.
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
