import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { call, type OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { formatCount } from '../../ui/format.ts'
import { Note } from '../../ui/note.tsx'
import { sentence } from '../../ui/problem.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { compareHref } from '../policy/words.ts'
import { valueText } from '../what-if/words.ts'
import type { DraftStore } from './draft-store.ts'

type Merge = OutputOf<'GET /v1/admin/policy-drafts/{draft_id}/merge'>
type Props = { store: DraftStore; draftId: string | undefined; isReadOnly: boolean }

/** Notes above the editor: another editor, a newer version, a missing right. */
export function DraftNotes({ store, draftId, isReadOnly }: Props) {
  return (
    <div className="ed-notes">
      {isReadOnly && (
        <Note title="You can read this draft, and not change it.">Changes need the permission policy:write.</Note>
      )}
      <NotSaved store={store} />
      <Overtaken store={store} />
      {!isReadOnly && draftId !== undefined && <BaseMoved store={store} draftId={draftId} />}
    </div>
  )
}

/** A save has failed: names the reason, and what the person can do. */
function NotSaved({ store: { saved, save, saveAsNew } }: { store: DraftStore }) {
  if (saved.state !== 'failed') return null
  const { error, isRetried } = saved
  const isDeleted = error instanceof ApiError && error.code === 'not_found'
  return (
    <Note
      kind="bad"
      role="alert"
      title={isDeleted ? 'Another person has deleted this draft.' : 'The last changes are not saved.'}
      actions={
        <Button size="sm" busyLabel="Saving…" onClick={isDeleted ? saveAsNew : save}>
          {isDeleted ? 'Save as a new draft' : 'Save now'}
        </Button>
      }
    >
      <p>
        {!isDeleted && sentence(reasonOf(error))} This window keeps your text.{' '}
        {isRetried && 'The next attempt follows by itself.'}
      </p>
    </Note>
  )
}

const reasonOf = (error: Error): string =>
  error instanceof ApiError && error.errors[0]
    ? `The ${error.errors[0].field} ${error.errors[0].message}`
    : error.message

/** Two people edit the draft: neither text is lost until one of them decides. */
function Overtaken({ store: { saved, takeTheirs, keepMine } }: { store: DraftStore }) {
  if (saved.state !== 'overtaken') return null
  const { updated_by_name, updated_at } = saved.theirs
  return (
    <Note
      kind="warn"
      role="alert"
      title={`${updated_by_name ?? 'Another person'} has saved this draft meanwhile.`}
      actions={
        <>
          <Button size="sm" onClick={takeTheirs}>
            Take their text
          </Button>
          <Button size="sm" busyLabel="Saving…" onClick={keepMine}>
            Overwrite with mine
          </Button>
        </>
      }
    >
      <p>
        Saved <Timestamp at={updated_at} />. Your text is kept in this window until you decide.
      </p>
    </Note>
  )
}

/** Stable has a newer version than the base of the draft: offers a merge by rule and name. */
function BaseMoved({ store, draftId }: { store: DraftStore; draftId: string }) {
  const stable = useApi('GET /v1/admin/policy', { query: { channel: 'stable', limit: 1 } })
  const [asked, setAsked] = useState<{ merge: Merge; text: string }>()
  const [error, setError] = useState<Error>()
  const current = stable.data?.items[0]
  if (!current || store.base?.digest === current.digest) return null
  // A draft on a canary is newer than stable: a merge would take the changes of the canary back.
  if (store.base && store.base.version > current.version) return null
  const ask = async () => {
    setError(undefined)
    try {
      if (!(await store.save())) return
      const { text } = store.read()
      const found = await call('GET /v1/admin/policy-drafts/{draft_id}/merge', {
        params: { draft_id: draftId },
        query: {},
      })
      if (found.conflicts.length > 0) setAsked({ merge: found, text })
      else await take({ merge: found, text })
    } catch (e) {
      setError(e as Error)
    }
  }
  /** A text that has changed since the question is merged anew. */
  const take = async ({ merge, text }: { merge: Merge; text: string }) => {
    setAsked(undefined)
    if (store.read().text !== text) await ask()
    else await store.rebase(merge.text, merge.current)
  }
  return (
    <Note
      kind="warn"
      title={`Stable is now v${current.version}${current.published_by_name ? `, published by ${current.published_by_name}` : ''}.`}
      actions={
        asked ? (
          <Button size="sm" kind="primary" busyLabel="Merging…" onClick={() => take(asked)}>
            Merge with my side
          </Button>
        ) : (
          <Button size="sm" busyLabel="Merging…" onClick={ask}>
            Merge v{current.version}
          </Button>
        )
      }
    >
      <p>
        The draft began with {store.base ? `v${store.base.version}` : 'no version'}. A merge takes both changes, by rule
        and name. {store.base && <AppLink to={compareHref(store.base, current)}>What changed in stable</AppLink>}
      </p>
      {asked && <Conflicts merge={asked.merge} />}
      {error && <ChangeProblem error={error} />}
    </Note>
  )
}

/** Entries that both sides changed. The merge keeps those of the draft, and the person sees the others here. */
const Conflicts = ({ merge: { conflicts } }: { merge: Merge }) => (
  <>
    <p>
      {formatCount(conflicts.length, 'entry was', 'entries were')} changed on both sides. The merge keeps those of the
      draft:
    </p>
    <ul>
      {conflicts.slice(0, 20).map(({ part, name, draft, published }) => (
        <li key={`${part} ${name}`}>
          <b className="strong">
            {part.replaceAll('_', ' ')} {name}
          </b>
          <br />
          <span className="soft">Draft: </span>
          {valueText(draft)}
          <br />
          <span className="soft">Stable: </span>
          {valueText(published)}
        </li>
      ))}
      {conflicts.length > 20 && <li>and {conflicts.length - 20} more</li>}
    </ul>
  </>
)
