import { type FormEvent, useRef, useState } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { call, type OutputOf } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { useCan } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { useApi } from '../../api/use-api.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { focusFirstError } from '../../ui/field.tsx'
import { formatNumber } from '../../ui/format.ts'
import { KeyValues } from '../../ui/key-values.tsx'
import { Note } from '../../ui/note.tsx'
import { FieldErrors } from '../../ui/problem.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { platformWords } from '../devices/words.ts'
import { bodyOf, commandOf, freshDraft, lifetimes, type TokenDraft } from './token-draft.ts'
import { TokenFields } from './token-fields.tsx'
import { devicesAllowed } from './words.ts'

/** Response with the secret. Only the state of the sheet holds it. */
export type MadeToken = OutputOf<'POST /v1/admin/tokens/generate'>

type Props = {
  draft: TokenDraft
  onChange: (draft: TokenDraft) => void
  onMade: (made: MadeToken) => void
  onClose: () => void
}

/** First half of the sheet: a token with good defaults, one click away. */
export function TokenForm({ draft, onChange, onMade, onClose }: Props) {
  const form = useRef<HTMLFormElement>(null)
  // After a new sign-in the form has its values again, so they are shown.
  const [isOpen, setIsOpen] = useState(() => isTyped(draft))
  const [error, setError] = useState<ApiError>()
  const create = async () => {
    setError(undefined)
    try {
      expectOwnChange('tokens')
      const made = await call('POST /v1/admin/tokens/generate', { body: bodyOf(draft) })
      void readTokensAgain()
      onMade(made)
    } catch (e) {
      const failed = e as ApiError
      setError(failed)
      if (failed.errors?.length > 0) setIsOpen(true)
      focusFirstError(form.current)
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (draft.maxUses !== undefined) void create()
  }
  const isFieldError = error !== undefined && error.errors.length > 0
  return (
    <Sheet
      title="Enroll device"
      isHeld={isTyped(draft) && 'typed'}
      onClose={onClose}
      footer={
        <>
          <CopyButton kind="ghost" text={commandOf(draft)} label="Copy as command" />
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button
            autoFocus
            kind="primary"
            busyLabel="Creating…"
            onClick={create}
            offReason={draft.maxUses === undefined ? 'Enter the number of devices first.' : undefined}
          >
            Create token
          </Button>
        </>
      }
    >
      <form className="stack" ref={form} onSubmit={submit} noValidate>
        <p className="soft">
          A device enrolls with a token: {devicesAllowed(draft.maxUses ?? 1)}, valid for {lifetimeOf(draft)}. The next
          step shows the line to run.
        </p>
        {error && !isFieldError && <ChangeProblem error={error} />}
        {error && <FieldErrors error={error} fields={shownFields} />}
        <details className="more" open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
          <summary>Token settings</summary>
          <div className="stack">
            {isOpen && (
              <TokenFields draft={draft} onChange={(change) => onChange({ ...draft, ...change })} error={error} />
            )}
          </div>
        </details>
        {!isOpen && <DraftSummary draft={draft} />}
        <PlanUsage count={draft.maxUses ?? 1} />
        {/* Enter in a field submits the form; the visible button is in the footer. */}
        <button type="submit" hidden tabIndex={-1}>
          Create token
        </button>
      </form>
    </Sheet>
  )
}

const shownFields = ['name', 'max_uses', 'expires_in_seconds', 'user_id', 'group_ids', 'tags', 'allowed_cidrs']
const isTyped = (draft: TokenDraft) => draft !== freshDraft && commandOf(draft) !== commandOf(freshDraft)
const lifetimeOf = ({ lifetime }: TokenDraft) => lifetimes.find((one) => one.value === lifetime)?.label ?? ''

const readTokensAgain = () =>
  queryClient.invalidateQueries({
    predicate: ({ queryKey: [route] }) => /GET \/v1\/admin\/(tokens|start)/.test(String(route)),
  })

function DraftSummary({ draft }: { draft: TokenDraft }) {
  return (
    <KeyValues
      rows={[
        ['Groups', draft.groups.map((group) => group.label).join(', ') || 'none'],
        ['User', draft.user?.label ?? 'none'],
        ['Platforms', draft.platforms.map((platform) => platformWords[platform]).join(', ') || 'all'],
        ['From addresses', draft.addresses.trim() || 'anywhere'],
        ['Approval', draft.requiresApproval ? 'by an administrator' : 'not needed'],
      ]}
    />
  )
}

/** Number of devices used of the plan. Empty if the caller may not read it or the plan has no limit. */
function PlanUsage({ count }: { count: number }) {
  const can = useCan()
  const { data } = useApi('GET /v1/admin/dashboard/overview', {}, { enabled: can('operations:read') })
  const devices = data?.usage.find((usage) => usage.metric === 'devices')
  if (!devices || devices.limit === null) return null
  const isFull = devices.used >= devices.limit
  return (
    <Note kind={isFull ? 'warn' : 'info'}>
      <p>
        <span className="num">
          {formatNumber(devices.used)} of {formatNumber(devices.limit)}
        </span>{' '}
        devices of the plan are in use.{' '}
        {isFull
          ? 'A new device is refused until you revoke one or upgrade the plan.'
          : count > 0 && `This token adds ${formatNumber(count)} at most.`}
      </p>
    </Note>
  )
}
