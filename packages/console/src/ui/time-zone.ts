import { useRouterState } from '@tanstack/react-router'
import type { TimeZone } from './format-time.ts'

/**
 * The zone in which times are shown: UTC, unless the address of the page has `tz=local`.
 *
 * @example const zone = useTimeZone()
 */
export function useTimeZone(): TimeZone {
  return useRouterState({
    select: ({ location }) => ((location.search as { tz?: unknown }).tz === 'local' ? 'local' : 'utc'),
  })
}
