import type { ReactNode } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { Frame } from '../../ui/frame.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import './home.css'

/** What a card needs of a query; `useApi` has this shape. */
export type CardQuery<T> = {
  data: T | undefined
  error: ApiError | null
  refetch: () => unknown
  dataUpdatedAt: number
}
type Props<T> = {
  id?: string
  title: string
  /** As it stands in a sentence: "the gateways could not be read". */
  what: string
  query: CardQuery<T>
  aside?: ReactNode
  footer?: ReactNode
  inset?: 'flush' | 'none' | undefined
  className?: string
  children: (data: T) => ReactNode
}

/** A region of Home that loads and fails alone. */
export function Card<T>({ id, title, what, query, aside, footer, inset, className, children }: Props<T>) {
  const { data, error, refetch, dataUpdatedAt } = query
  const isEmpty = data === undefined
  return (
    <Frame
      id={id}
      title={title}
      aside={aside}
      footer={isEmpty ? undefined : footer}
      inset={isEmpty || error ? undefined : inset}
      className={className}
    >
      {error && <Problem error={error} retry={refetch} what={what} isRead {...(!isEmpty && { asOf: dataUpdatedAt })} />}
      {isEmpty ? !error && <Waiting /> : children(data)}
    </Frame>
  )
}

const Waiting = () => (
  <div className="waiting" aria-busy="true">
    <Skeleton width="w60" />
    <Skeleton width="w85" />
    <Skeleton width="w45" />
  </div>
)
