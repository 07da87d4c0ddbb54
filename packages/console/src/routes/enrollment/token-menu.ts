import type { useOffReason } from '../../api/me.ts'
import { openOverlay } from '../../shell/overlay.ts'
import { copyCommandItem } from '../../ui/copy-command.ts'
import type { MenuItem } from '../../ui/menu-popover.tsx'
import { type Token, tokenName } from './words.ts'

/** Opens the confirmation for revoking a token. */
export const askToRevoke = (token: Token): void =>
  openOverlay({ kind: 'token_revoke', token: { ...token, name: tokenName(token) } })

/** Returns the actions on a token. */
export function tokenMenu(token: Token, off: ReturnType<typeof useOffReason>): readonly MenuItem[] {
  const copy = copyCommandItem(`holdfast token show ${token.token_id}`)
  if (token.status !== 'active') return [copy]
  return [
    copy,
    'line',
    {
      id: 'revoke',
      label: 'Revoke…',
      icon: 'ban',
      danger: true,
      offReason: off('enrollment_tokens:write'),
      onSelect: () => askToRevoke(token),
    },
  ]
}
