import type { ReactNode } from 'react'
import { Frame } from '../../ui/frame.tsx'
import { type QueryState, QueryView } from '../../ui/query-view.tsx'
import { useFirstData } from '../../ui/use-first-data.ts'
import './home.css'

type Props<T> = {
  id?: string
  title: string
  /** Name of the data in a sentence: "the gateways could not be read". */
  what: string
  query: QueryState<T>
  aside?: ReactNode
  footer?: ReactNode
  inset?: 'flush' | 'none' | undefined
  className?: string
  children: (data: T) => ReactNode
}

/** Region of Home that loads and fails independently. */
export function Card<T>({ id, title, what, query, aside, footer, inset, className, children }: Props<T>) {
  const isEmpty = useFirstData(query.data) === undefined
  return (
    <Frame
      id={id}
      title={title}
      aside={aside}
      footer={isEmpty ? undefined : footer}
      inset={isEmpty || query.error ? undefined : inset}
      className={className}
    >
      <QueryView query={query} what={what}>
        {children}
      </QueryView>
    </Frame>
  )
}
