import type { ReactNode } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { Frame } from '../../ui/frame.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonRows } from '../../ui/skeleton.tsx'

type Query<T> = { data: T | undefined; error: ApiError | null; refetch: () => unknown; dataUpdatedAt: number }
type Props<T> = {
  title: string
  /** As it stands in a sentence: "the gateways could not be read". */
  what: string
  query: Query<T>
  aside?: ReactNode
  footer?: ReactNode
  inset?: 'flush' | 'none'
  className?: string
  children: (data: T) => ReactNode
}

/** A region of Home that loads and fails alone. */
export function Card<T>({ title, what, query, aside, footer, inset, className, children }: Props<T>) {
  const { data, error, refetch, dataUpdatedAt } = query
  return (
    <Frame title={title} aside={aside} footer={data !== undefined && footer} inset={inset} className={className}>
      {error && (
        <Problem error={error} retry={refetch} what={what} {...(data !== undefined && { asOf: dataUpdatedAt })} />
      )}
      {data !== undefined ? children(data) : !error && <SkeletonRows columns={2} rows={4} />}
    </Frame>
  )
}
