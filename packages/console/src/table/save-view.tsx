import type { ViewList } from '@holdfast/contract/vocabulary'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { fieldMessageOf } from '../api/api-error.ts'
import { call } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { CheckboxField } from '../ui/choices.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { toast } from '../ui/toast.tsx'

type Props = { list: ViewList; query: Readonly<Record<string, string>>; onClose: () => void }

/** Asks for a name, and saves the current filters under it. */
export function SaveView({ list, query, onClose }: Props) {
  const [name, setName] = useState('')
  const [shared, setShared] = useState(false)
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const queries = useQueryClient()
  const save = async () => {
    if (name.trim() === '') return setError('Give the view a name, for example “Fail posture”.')
    setBusy(true)
    try {
      await call('POST /v1/admin/views', { body: { list, name: name.trim(), query, shared } })
      await queries.invalidateQueries({ queryKey: ['GET /v1/admin/views'] })
      toast({ title: `View “${name.trim()}” saved` })
      onClose()
    } catch (e) {
      setError(fieldMessageOf(e))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title="Save view"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busyLabel="Saving…" isBusy={isBusy} onClick={save}>
            Save view
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          {...(error !== undefined && { error })}
          maxLength={128}
        />
        <CheckboxField label="Share with everybody who may see this list" value={shared} onChange={setShared} />
      </form>
    </Dialog>
  )
}
