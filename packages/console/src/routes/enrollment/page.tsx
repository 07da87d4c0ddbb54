import { useMemo } from 'react'
import { useCan, useOffReason } from '../../api/me.ts'
import { openOverlay } from '../../shell/overlay.ts'
import { useListPage, useListState } from '../../table/list-state.ts'
import { ListView } from '../../table/list-view.tsx'
import { Button } from '../../ui/button.tsx'
import { FirstRun } from '../../ui/empty-state.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { EnrollButton } from './enroll-button.tsx'
import { tokensSpec } from './spec.tsx'
import { tokenMenu } from './token-menu.ts'
import { TokenPanel } from './token-panel.tsx'
import type { Token } from './words.ts'

const filterNames = ['q', ...tokensSpec.filters.map((filter) => filter.name)]

/** B7: enrollment tokens of the tenant, with a panel beside the list. */
export function Page() {
  const state = useListState(filterNames, tokensSpec.defaultSort)
  const query = useListPage('GET /v1/admin/tokens', state)
  const tokens = query.data?.items
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
    <ListView
      spec={spec}
      state={state}
      query={query}
      verbs={verbs}
      hrefOf={(id) => `/admin/enrollment?open=${id}`}
      head={<Head />}
      firstRun={<NoTokens />}
      panel={(walk) => <TokenPanel {...walk} />}
    />
  )
}

function Head() {
  const can = useCan()
  return (
    <PageHead
      title="Enrollment"
      sub="Devices enroll with tokens"
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
    sentence="A device joins with a token. Create one and run its line on the device. The device then appears here."
    action={<EnrollButton label="Enroll the first device" />}
    command="holdfast token create --print-install"
  />
)
