import { useState } from 'react'
import { call } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { queryClient } from '../../api/query-client.ts'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { formatCount } from '../../ui/format.ts'
import { toast } from '../../ui/toast.tsx'

type Props = {
  token: { token_id: string; name: string; uses: number }
  onRevoked?: (() => void) | undefined
  onClose: () => void
}

/** Returns "token new starters". The name of an unnamed token is "Token ending in" and four letters. */
const nameInWords = ({ name }: Props['token']) => (name.startsWith('Token ') ? name.replace('T', 't') : `token ${name}`)

/** Asks before an enrollment token is revoked. */
export function RevokeToken({ token, onRevoked, onClose }: Props) {
  const [error, setError] = useState<Error>()
  const act = async (reason: string | undefined) => {
    setError(undefined)
    try {
      expectOwnChange('tokens')
      const body = { ...(reason !== undefined && { reason }) }
      const answer = await call('POST /v1/admin/tokens/{token_id}/revoke', {
        params: { token_id: token.token_id },
        body,
      })
      await queryClient.invalidateQueries({
        predicate: ({ queryKey: [route] }) => /GET \/v1\/admin\/(tokens|start)/.test(String(route)),
      })
      toast({ title: `The ${nameInWords(token)} ${answer.changed ? 'is revoked' : 'was already revoked'}` })
      onClose()
      onRevoked?.()
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Confirm
      title={`Revoke the ${nameInWords(token)}?`}
      lede="This cannot be undone. You can create a new token at any time."
      objects={{ names: [] }}
      effects={[
        { icon: 'ban', text: 'No device can enroll with it from now on.' },
        {
          icon: 'laptop',
          text:
            token.uses === 0
              ? 'No device has enrolled with it.'
              : `${formatCount(token.uses, 'device')} that enrolled with it ${token.uses === 1 ? 'stays' : 'stay'} as ${token.uses === 1 ? 'it is' : 'they are'}.`,
        },
      ]}
      reason="optional"
      keepLabel="Keep token"
      deedLabel="Revoke token"
      busyLabel="Revoking…"
      command={`holdfast token revoke ${token.token_id}`}
      problem={error && <ChangeProblem error={error} />}
      onConfirm={act}
      onClose={onClose}
    />
  )
}
