import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import type { ApiError } from './api-error.ts'
import { call, type InputOf, type OutputOf, type Route } from './client.ts'
import { selectedTenant } from './selected-tenant.ts'

type Options<T> = {
  enabled?: boolean
  /**
   * Milliseconds between refetches while the page is visible, only for data that the stream does not cover. A function
   * of the last response ends the refetches by returning undefined.
   */
  everyMs?: number | ((data: T | undefined) => number | undefined)
  /** Keeps the last response while another input is read, for pages of lists. */
  keepsLast?: boolean
}

/** Describes a read of the API as a query; its key is the route, the input and the tenant. */
export const apiQuery = <R extends Route>(route: R, input: InputOf<R>) =>
  queryOptions<OutputOf<R>, ApiError>({
    queryKey: [route, input, selectedTenant()],
    queryFn: ({ signal }) => call(route, input, { signal }),
  })

/**
 * Reads from the API while a component is shown.
 *
 * @example const overview = useApi('GET /v1/admin/dashboard/overview', {})
 */
export const useApi = <R extends Route>(
  route: R,
  input: InputOf<R>,
  { enabled = true, everyMs, keepsLast = false }: Options<OutputOf<R>> = {},
) =>
  useQuery({
    ...apiQuery(route, input),
    enabled,
    ...(everyMs !== undefined && { refetchInterval: intervalOf<R>(everyMs) }),
    ...(keepsLast && { placeholderData: keepPreviousData }),
  })

type Every<R extends Route> = NonNullable<Options<OutputOf<R>>['everyMs']>
const intervalOf = <R extends Route>(everyMs: Every<R>) =>
  typeof everyMs === 'number'
    ? everyMs
    : ({ state }: { state: { data: OutputOf<R> | undefined } }) => everyMs(state.data) ?? false
