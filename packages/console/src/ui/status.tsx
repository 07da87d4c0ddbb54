import type { ReactNode } from 'react'
import { classes } from './classes.ts'

export type Mark = 'ok' | 'warn' | 'bad' | 'info' | 'half' | 'ring' | 'off'

/**
 * Mark and word. Shape and colour have the same meaning: ● good, ▲ warning, ◆ bad, ◐ under way, ○ not yet or unknown, □
 * switched off.
 *
 * @example <Status kind="warn">Degraded</Status>
 */
export function Status({ kind, children }: { kind: Mark; children: ReactNode }) {
  return (
    <span className="st">
      <span className={classes('d', kind)} />
      {children}
    </span>
  )
}
