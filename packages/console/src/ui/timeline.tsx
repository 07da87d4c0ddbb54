import type { ReactNode } from 'react'
import { classes } from './classes.ts'
import type { Mark } from './status.tsx'
import { Timestamp } from './timestamp.tsx'

type Entry = { id: string; mark: Mark; title: ReactNode; at: string; sub?: ReactNode }

/**
 * Events in order: mark, sentence, time.
 *
 * @example <Timeline entries={[{ id, mark: 'ok', title: 'Enrolled', at: device.enrolled_at }]} />
 */
export const Timeline = ({ entries, as = 'clock' }: { entries: readonly Entry[]; as?: 'clock' | 'relative' }) => (
  <ol className="tl">
    {entries.map(({ id, mark, title, at, sub }) => (
      <li key={id}>
        <span className={classes('d', mark)} />
        <span>{title}</span>
        <Timestamp at={at} as={as} />
        {sub !== undefined && <span className="sub">{sub}</span>}
      </li>
    ))}
  </ol>
)
