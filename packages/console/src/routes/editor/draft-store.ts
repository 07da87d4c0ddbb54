import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { type ApiError, isOvertaken } from '../../api/api-error.ts'
import { call, callWithEtag, type OutputOf } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { selectedTenant } from '../../api/selected-tenant.ts'
import { useStable } from '../../ui/use-stable.ts'

const one = 'GET /v1/admin/policy-drafts/{draft_id}'
type Draft = OutputOf<typeof one>
type Base = Draft['base']
/** What the editor begins with: a stored draft, or a text that is not stored yet. */
export type Start =
  | { draft: Draft; etag: string | undefined }
  | { draft: undefined; name: string; text: string; base: Base }

/** Milliseconds after the last change until it is saved. */
const saveAfterMs = 2_500

type Saved =
  | { state: 'saved'; at: string | undefined }
  | { state: 'waiting' }
  | { state: 'saving' }
  | { state: 'failed'; error: Error }
  /** Another person has saved the draft meanwhile. */
  | { state: 'overtaken'; theirs: Draft; etag: string | undefined }

/** Reads a draft together with its version, for an `If-Match`. */
export const useStoredDraft = (draftId: string | undefined) =>
  useQuery<{ draft: Draft; etag: string | undefined }, ApiError>({
    queryKey: [one, 'edit', draftId, selectedTenant()],
    queryFn: ({ signal }) => readDraft(draftId ?? '', signal),
    enabled: draftId !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })

const readDraft = async (draft_id: string, signal?: AbortSignal) => {
  const { body, etag } = await callWithEtag(one, { params: { draft_id } }, { signal })
  return { draft: body, etag }
}

/**
 * Keeps the text of a draft on the server. A change is saved some seconds after the last key, and when the page is
 * left. A text that is not stored yet is created with the first change.
 *
 * @param onCreated gets the id of a draft that was created
 */
export function useDraftStore(start: Start, isReadOnly: boolean, onCreated: (draftId: string) => void) {
  const queries = useQueryClient()
  const [text, setText] = useState(start.draft?.text ?? (start.draft === undefined ? start.text : ''))
  const [base, setBase] = useState<Base>(start.draft ? start.draft.base : start.draft === undefined ? start.base : null)
  const [saved, setSaved] = useState<Saved>({ state: 'saved', at: start.draft?.updated_at })
  const stored = useRef({ id: start.draft?.draft_id, etag: start.draft ? start.etag : undefined, text })
  const name = start.draft?.name ?? (start.draft === undefined ? start.name : '')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const running = useRef<Promise<void>>(undefined)

  const write = async (wanted: string, wantedBase: Base) => {
    setSaved({ state: 'saving' })
    expectOwnChange('policy_drafts')
    try {
      const { id, etag } = stored.current
      const body = { name, text: wanted, base: wantedBase && { bundle_id: wantedBase.bundle_id } }
      const answer =
        id === undefined
          ? await callWithEtag('POST /v1/admin/policy-drafts', { body })
          : await callWithEtag(
              'PUT /v1/admin/policy-drafts/{draft_id}',
              { params: { draft_id: id }, body },
              { ifMatch: etag ?? '*' },
            )
      const draftId = answer.body.draft_id
      // The answer of a creation has no ETag of the draft.
      const now = id === undefined ? (await readDraft(draftId)).etag : answer.etag
      stored.current = { id: draftId, etag: now, text: wanted }
      setSaved({ state: 'saved', at: answer.body.updated_at })
      if (id === undefined) onCreated(draftId)
    } catch (e) {
      if (!isOvertaken(e)) return setSaved({ state: 'failed', error: e as Error })
      const { draft, etag } = await readDraft(stored.current.id ?? '')
      setSaved({ state: 'overtaken', theirs: draft, etag })
    }
  }
  const save = useStable(async () => {
    clearTimeout(timer.current)
    await running.current
    if (isReadOnly || stored.current.text === text) return
    running.current = write(text, base)
    await running.current
  })
  const change = useStable((next: string) => {
    setText(next)
    if (isReadOnly) return
    clearTimeout(timer.current)
    // A conflict waits for the decision of the person.
    if (saved.state === 'overtaken') return
    if (next === stored.current.text) return setSaved({ state: 'saved', at: undefined })
    setSaved({ state: 'waiting' })
    timer.current = setTimeout(() => void save(), saveAfterMs)
  })
  useEffect(() => {
    const leave = () => void save()
    addEventListener('pagehide', leave)
    return () => {
      removeEventListener('pagehide', leave)
      leave()
      void queries.invalidateQueries({ queryKey: [one, 'edit'] })
    }
  }, [save, queries])
  return {
    text,
    base,
    saved,
    change,
    save,
    /** Takes a text on another base: after a merge, or a restored version. */
    rebase: async (next: string, nextBase: Base) => {
      setText(next)
      setBase(nextBase)
      stored.current = { ...stored.current, text: '' }
      await write(next, nextBase)
    },
    /** After another person has saved: takes their text. */
    takeTheirs: () => {
      if (saved.state !== 'overtaken') return
      const { theirs, etag } = saved
      stored.current = { id: theirs.draft_id, etag, text: theirs.text }
      setText(theirs.text)
      setBase(theirs.base)
      setSaved({ state: 'saved', at: theirs.updated_at })
    },
    /** After another person has saved: overwrites their text. */
    keepMine: async () => {
      if (saved.state !== 'overtaken') return
      stored.current = { ...stored.current, etag: saved.etag, text: saved.theirs.text }
      await write(text, base)
    },
  }
}
export type DraftStore = ReturnType<typeof useDraftStore>

/** Deletes a draft. */
export const deleteDraft = (draft_id: string) =>
  call('DELETE /v1/admin/policy-drafts/{draft_id}', { params: { draft_id } })
