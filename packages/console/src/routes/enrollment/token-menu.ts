import type { useOffReason } from '../../api/me.ts'
import { openOverlay } from '../../shell/overlay.ts'
import type { MenuItem } from '../../ui/menu.tsx'
import { toast } from '../../ui/toast.tsx'
import { type Token, tokenName } from './words.ts'

/** Opens the question whether a token is to be revoked. */
export const askToRevoke = (token: Token): void =>
  openOverlay({ kind: 'token_revoke', token: { ...token, name: tokenName(token) } })

/** What can be done with a token. */
export function tokenMenu(token: Token, off: ReturnType<typeof useOffReason>): readonly MenuItem[] {
  const command = `holdfast token show ${token.token_id}`
  const copy: MenuItem = {
    ...{ id: 'copy', label: 'Copy as a command', icon: 'term' },
    onSelect: () =>
      void navigator.clipboard.writeText(command).then(() => toast({ title: 'Command copied', text: command })),
  }
  if (token.status !== 'active') return [copy]
  return [
    copy,
    'line',
    {
      ...{ id: 'revoke', label: 'Revoke…', icon: 'ban', danger: true, offReason: off('enrollment_tokens:write') },
      onSelect: () => askToRevoke(token),
    },
  ]
}
