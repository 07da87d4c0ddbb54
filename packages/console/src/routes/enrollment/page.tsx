import { useMemo } from 'react'
import { useCan, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { openOverlay } from '../../shell/overlay.ts'
import { useListState } from '../../table/list-state.ts'
import { ListView, pageSize } from '../../table/list-view.tsx'
import { Button } from '../../ui/button.tsx'
import { FirstRun } from '../../ui/empty-state.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { EnrollButton } from './enroll-button.tsx'
import { tokensSpec } from './spec.tsx'
import { tokenMenu } from './token-menu.ts'
import { TokenPanel } from './token-panel.tsx'
import type { Token } from './words.ts'

const filterNames = tokensSpec.filters.map((filter) => filter.name)

/** B7: the enrollment tokens of the tenant, with a panel beside the list. */
export function Page() {
  const state = useListState(filterNames, tokensSpec.defaultSort)
  const filter = { ...state.filters, ...(state.q && { q: state.q }) }
  const page = { sort: state.sort, limit: pageSize, cursor: state.cursor }
  const query = useApi('GET /v1/admin/tokens', { query: { ...filter, ...page } as object }, { keepsLast: true })
  const tokens = query.data?.items
  const ids = useMemo(() => tokens?.map((token) => token.token_id) ?? [], [tokens])
  const off = useOffReason()
  const spec = useMemo(() => ({ ...tokensSpec, menuOf: (token: Token) => tokenMenu(token, off) }), [off])
  const verbs = useMemo(
    () => ({
      r: (id: string) => {
        const token = tokens?.find((one) => one.token_id === id)
        const item = token && tokenMenu(token, off).find((one) => one !== 'line' && one.id === 'revoke')
        if (item && item !== 'line' && item.offReason === undefined) item.onSelect()
      },
    }),
    [tokens, off],
  )
  return (
    <div className="split">
      <ListView
        spec={spec}
        state={state}
        query={query}
        verbs={verbs}
        hrefOf={(id) => `/admin/enrollment?open=${id}`}
        onOpen={(id) => state.set({ open: id })}
        head={<Head />}
        firstRun={<NoTokens />}
      />
      {state.open && (
        <TokenPanel
          key={state.open}
          tokenId={state.open}
          ids={ids}
          onMove={(id) => state.set({ open: id }, { replace: true })}
          onClose={() => state.set({ open: undefined })}
        />
      )}
    </div>
  )
}

function Head() {
  const can = useCan()
  return (
    <PageHead
      title="Enrollment"
      sub="Tokens by which devices join"
      actions={
        <>
          {can('settings:read') && (
            <Button kind="ghost" icon="term" onClick={() => openOverlay({ kind: 'install_lines' })}>
              Install lines…
            </Button>
          )}
          <EnrollButton />
        </>
      }
    />
  )
}

const NoTokens = () => (
  <FirstRun
    title="No enrollment tokens yet"
    sentence="A device joins with a token. Make one, run the line on the device, and the device appears by itself."
    action={<EnrollButton label="Enroll the first device" />}
    command="holdfast token create --print-install"
  />
)
