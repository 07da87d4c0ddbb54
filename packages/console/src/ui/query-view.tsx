import type { Permission } from '@holdfast/contract/vocabulary'
import type { ReactNode } from 'react'
import type { ApiError } from '../api/api-error.ts'
import { useCan } from '../api/me.ts'
import { NoPermission, Problem } from './problem.tsx'
import { SkeletonLines } from './skeleton.tsx'
import { useFirstData } from './use-first-data.ts'

/** The parts of a query that a view needs; `useApi` has this shape. */
export type QueryState<T> = {
  data: T | undefined
  error: ApiError | null
  refetch: () => unknown
  dataUpdatedAt: number
}
type Props<T> = {
  query: QueryState<T>
  /** Name of the data in a sentence: `the sessions of this device`. */
  what: string
  /** Permission to read the data. A caller without it sees the reason. */
  permission?: Permission | undefined
  /** Content until the first response. */
  waiting?: ReactNode
  children: (data: T) => ReactNode
}

/**
 * Part of a page that reads from the API: missing permission, failure, skeleton, then the data. After a failed refetch
 * the last data stays below the failure.
 *
 * @example <QueryView query={query} what="certificates" permission="spc:read">{({ items }) => …}</QueryView>
 */
export function QueryView<T>({ query, what, permission, waiting = <SkeletonLines />, children }: Props<T>) {
  const { error, refetch, dataUpdatedAt } = query
  const data = useFirstData(query.data)
  const can = useCan()
  if (permission && !can(permission)) return <NoPermission what={what} permission={permission} />
  return (
    <>
      {error && (
        <Problem error={error} retry={refetch} what={what} asOf={data === undefined ? undefined : dataUpdatedAt} />
      )}
      {data === undefined ? !error && waiting : children(data)}
    </>
  )
}
