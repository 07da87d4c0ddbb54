import { useState } from 'react'
import { call } from '../../api/client.ts'
import { withStepUp } from '../../api/step-up.ts'
import { useApi } from '../../api/use-api.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { errorOf, FieldErrors } from '../../ui/problem.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { toast } from '../../ui/toast.tsx'
import { nameOf, type User } from '../users/words.ts'
import { expectUserChange, refreshUsers } from './change-users.ts'

const fields = ['provider_id', 'subject']

/** Links a user with an account of an identity provider. */
export function LinkIdentity({ user, onClose }: { user: User; onClose: () => void }) {
  const providers = useApi('GET /v1/admin/settings/providers', { query: { limit: 200 } })
  const [chosen, setChosen] = useState<string>()
  const [subject, setSubject] = useState('')
  const [error, setError] = useState<Error | null>(null)
  const provider_id = chosen ?? providers.data?.items[0]?.provider_id
  const link = async () => {
    if (provider_id === undefined) return
    setError(null)
    try {
      expectUserChange()
      const input = { params: { user_id: user.user_id }, body: { provider_id, subject: subject.trim() } }
      const { identity } = await withStepUp(() => call('POST /v1/admin/users/{user_id}/identities', input))
      await refreshUsers()
      toast({ title: `${nameOf(user)} is linked with ${identity.provider_name}` })
      onClose()
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Sheet
      title={`Link an account with ${nameOf(user)}`}
      isHeld={subject !== '' && 'typed'}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busyLabel="Linking…"
            offReason={provider_id === undefined || subject.trim() === '' ? 'Enter the account first.' : undefined}
            onClick={link}
          >
            Link account
          </Button>
        </>
      }
    >
      <QueryView query={providers} what="identity providers">
        {({ items }) =>
          items.length === 0 ? (
            <p>This tenant has no identity provider.</p>
          ) : (
            <form
              className="stack"
              onSubmit={(event) => {
                event.preventDefault()
                void link()
              }}
            >
              <p>The owner of this account at the provider then signs in as {nameOf(user)}.</p>
              <SelectField
                label="Provider"
                options={items.map(({ provider_id: value, name }) => ({ value, label: name }))}
                value={provider_id ?? ''}
                onChange={setChosen}
                error={errorOf(error, 'provider_id')}
              />
              <TextField
                label="Account"
                help="The permanent id at the provider: `sub` of the ID token, `oid` of Entra ID, NameID of SAML."
                value={subject}
                onChange={setSubject}
                maxLength={255}
                isMono
                error={errorOf(error, 'subject')}
              />
              <FieldErrors error={error} fields={fields} />
              {error && errorOf(error, 'subject') === undefined && <ChangeProblem error={error} />}
            </form>
          )
        }
      </QueryView>
    </Sheet>
  )
}
