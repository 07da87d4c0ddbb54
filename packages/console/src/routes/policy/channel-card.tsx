import type { ReactNode } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { Frame } from '../../ui/frame.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { ChannelFacts, VersionMark } from './channel-facts.tsx'
import type { useGatewaysOf } from './use-channels.ts'
import type { Version } from './words.ts'

type Query = {
  data: { items: readonly Version[] } | undefined
  error: ApiError | null
  refetch: () => unknown
  dataUpdatedAt: number
}
type Props = {
  title: string
  query: Query
  version: Version | undefined
  before: Version | undefined
  goesTo: ReactNode
  gateways: ReturnType<typeof useGatewaysOf>
  /** Content if the channel delivers nothing. */
  empty: ReactNode
  footer: ReactNode
  children: ReactNode
}

/** A channel: its version, and the progress of that version. */
export function ChannelCard({ title, query, version, empty, footer, children, ...facts }: Props) {
  return (
    <Frame
      title={title}
      marks={version && <VersionMark version={version} isCanary={version.channel === 'canary'} />}
      aside={version && <Timestamp at={version.published_at} className="soft" />}
      footer={version && footer}
      inset="stack"
    >
      <QueryView query={query} what={`the ${title.toLowerCase()} version`} waiting={<SkeletonLines />}>
        {() =>
          version ? (
            <>
              <ChannelFacts version={version} {...facts} />
              {children}
            </>
          ) : (
            empty
          )
        }
      </QueryView>
    </Frame>
  )
}
