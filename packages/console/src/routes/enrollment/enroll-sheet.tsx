import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { useDraft } from '../../ui/use-draft.ts'
import { MadeSheet } from './made-sheet.tsx'
import { freshDraft } from './token-draft.ts'
import { type MadeToken, TokenForm } from './token-form.tsx'

const ownPath = '/admin/enrollment/new'

/**
 * B8: from a token to the enrolled device. The secret of the token is in the state of this component: closing the sheet
 * removes it from the page.
 */
export function EnrollSheet({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useDraft('enroll device', freshDraft)
  const [made, setMade] = useState<MadeToken>()
  const close = useCloseOnOwnPath(onClose, made !== undefined)
  if (!made) return <TokenForm draft={draft} onChange={setDraft} onMade={setMade} onClose={close} />
  return (
    <MadeSheet
      key={made.enrollment_token.token_id}
      made={made}
      onAnother={() => setMade(undefined)}
      onRevoked={() => setMade(undefined)}
      onClose={close}
    />
  )
}

/**
 * Returns a function that closes the sheet. At the sheet's own address, it leads to the list below. Going back from
 * that address closes the sheet too, unless it shows a secret.
 */
function useCloseOnOwnPath(onClose: () => void, isHeld: boolean) {
  const navigate = useNavigate()
  const pathname = useRouterState({ select: (state) => state.location.pathname })
  const opened = useRef(pathname)
  const onPath = useEffectEvent((path: string) => {
    if (opened.current === ownPath && path !== ownPath && !isHeld) onClose()
  })
  useEffect(() => onPath(pathname), [pathname])
  return () => {
    onClose()
    if (pathname === ownPath) void navigate({ to: '/admin/enrollment', replace: true })
  }
}
