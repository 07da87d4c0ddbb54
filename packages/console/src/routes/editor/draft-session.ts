import { ApiError, isOvertaken, isTransient } from '../../api/api-error.ts'
import { callWithEtag, type OutputOf } from '../../api/client.ts'
import { beforeSignOut, dropDraft, holdDraft, keepDraft, keptDraft } from '../../api/drafts.ts'
import { expectOwnChange } from '../../api/live.ts'
import { toast } from '../../ui/toast.tsx'
import { deleteDraft, readDraft, refreshDrafts } from './stored-drafts.ts'

type Draft = OutputOf<'GET /v1/admin/policy-drafts/{draft_id}'>
type Base = Draft['base']
/** Beginning of the editor: a stored draft, or a text that is not stored yet. */
export type Start =
  | { draft: Draft; etag: string | undefined }
  | { draft: undefined; name: string; text: string; base: Base }

type Saved =
  | { state: 'saved'; at: string | undefined }
  | { state: 'waiting' }
  | { state: 'saving' }
  /** `isRetried`: the session tries again by itself. */
  | { state: 'failed'; error: Error; isRetried: boolean }
  /** Another person has saved the draft meanwhile. */
  | { state: 'overtaken'; theirs: Draft; etag: string | undefined }
type State = { name: string; text: string; base: Base; saved: Saved }
/** Version on the server. A text of undefined is on no server. */
type Stored = { id: string | undefined; etag: string | undefined; text: string | undefined; base: Base }
/** Changes that are not on the server, and the version that they were made on. */
type Unsaved = { text: string; base: Base; etag: string | undefined }

/** Milliseconds after the last change until it is saved. */
const saveAfterMs = 2_500
const retryAfterMs = 5_000

type Options = { start: Start; isReadOnly: boolean; onCreated: (draftId: string) => void }

/**
 * Keeps the text of a draft on the server. A change is saved some seconds after the last key, and when the editor
 * closes. A text that is not stored yet is created with the first change. One request runs at a time, and each names
 * the version that it replaces.
 */
export class DraftSession {
  readonly #options: Options
  readonly #listeners = new Set<() => void>()
  #stored: Stored
  #state: State
  #timer: ReturnType<typeof setTimeout> | undefined
  #running = Promise.resolve(true)
  /** Text of the last request: its answer may have been lost. */
  #sent: string | undefined
  #isOpen = false
  #isDiscarded = false
  /** True if the page leaves for the sign-in with the text in its storage. */
  #isHeld = false
  #release = () => {}

  constructor(options: Options) {
    this.#options = options
    this.#stored = storedOf(options.start)
    this.#state = stateOf(options.start, this.#stored)
  }

  read = (): State => this.#state

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Follows the page. Returns the function that saves and ends the session. */
  open = (): (() => void) => {
    this.#isOpen = true
    this.#hold()
    if (this.#state.saved.state === 'waiting') this.#saveIn(saveAfterMs)
    const ends = [
      listen(document, 'visibilitychange', () => void (document.hidden && this.save())),
      listen(window, 'online', () => void (this.#state.saved.state === 'failed' && this.save())),
      listen(window, 'beforeunload', (event) => {
        if (!this.#isDirty() || this.#isHeld) return
        void this.save()
        event.preventDefault()
      }),
      beforeSignOut(this.save),
    ]
    return () => {
      for (const end of ends) end()
      void this.#close()
    }
  }

  /** Saves now. True if the server has the whole text. */
  save = (): Promise<boolean> => {
    clearTimeout(this.#timer)
    this.#running = this.#running.then(() => this.#writeIfDirty())
    lastSave = this.#running
    return this.#running
  }

  change = (text: string): void => {
    this.#isHeld = false
    this.#set({ text })
    // A conflict waits for the decision of the person.
    if (this.#options.isReadOnly || this.#state.saved.state === 'overtaken') return
    const isDirty = this.#isDirty()
    this.#set({ saved: isDirty ? { state: 'waiting' } : { state: 'saved', at: undefined } })
    if (isDirty) this.#saveIn(saveAfterMs)
    else clearTimeout(this.#timer)
  }

  /** Takes a text on another base: after a merge. */
  rebase = (text: string, base: Base): Promise<boolean> => {
    this.#set({ text, base })
    return this.save()
  }

  /** After another person has saved: takes their text. */
  takeTheirs = (): void => {
    const { saved } = this.#state
    if (saved.state !== 'overtaken') return
    const { name, text, base, updated_at } = saved.theirs
    this.#stored = storedOf({ draft: saved.theirs, etag: saved.etag })
    this.#set({ name, text, base, saved: { state: 'saved', at: updated_at } })
  }

  /** After another person has saved: overwrites their text. */
  keepMine = async (): Promise<void> => {
    const { saved } = this.#state
    if (saved.state !== 'overtaken') return
    this.#stored = storedOf({ draft: saved.theirs, etag: saved.etag })
    this.#set({ name: saved.theirs.name, saved: { state: 'waiting' } })
    await this.save()
  }

  /** After another person has deleted the draft: stores the text as a new one. */
  saveAsNew = async (): Promise<void> => {
    this.#stored = { ...this.#stored, id: undefined, etag: undefined, text: undefined }
    await this.save()
  }

  /** Deletes the draft, unless another person has changed it. */
  discard = async (): Promise<void> => {
    await this.#running
    const { id, etag } = this.#stored
    if (id !== undefined) await deleteDraft(id, etag)
    this.#isDiscarded = true
  }

  #set(next: Partial<State>): void {
    this.#state = { ...this.#state, ...next }
    for (const listener of this.#listeners) listener()
  }

  #isDirty(): boolean {
    if (this.#options.isReadOnly || this.#isDiscarded) return false
    const { text, base } = this.#state
    return text !== this.#stored.text || base?.bundle_id !== this.#stored.base?.bundle_id
  }

  #unsaved(): Unsaved {
    return { text: this.#state.text, base: this.#state.base, etag: this.#stored.etag }
  }

  #hold(): void {
    this.#release()
    this.#release = holdDraft(keyOf(this.#stored.id), () => {
      this.#isHeld = this.#isDirty()
      return this.#isHeld ? this.#unsaved() : undefined
    })
  }

  #saveIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.save(), ms)
  }

  async #writeIfDirty(): Promise<boolean> {
    if (this.#state.saved.state === 'overtaken') return false
    if (!this.#isDirty()) {
      if (this.#state.saved.state !== 'saved') this.#set({ saved: { state: 'saved', at: undefined } })
      return true
    }
    this.#set({ saved: { state: 'saving' } })
    await this.#write()
      .catch((error: unknown) => this.#resolveRefusal(error))
      .catch((error: unknown) => this.#fail(error))
    if (this.#state.saved.state === 'waiting' && this.#isOpen) this.#saveIn(saveAfterMs)
    return !this.#isDirty()
  }

  async #write(): Promise<void> {
    const { name, text, base } = this.#state
    const { id, etag } = this.#stored
    const body = { name, text, base: base && { bundle_id: base.bundle_id } }
    expectOwnChange('policy_drafts')
    this.#sent = text
    const answer =
      id === undefined
        ? await callWithEtag('POST /v1/admin/policy-drafts', { body })
        : await callWithEtag(
            'PUT /v1/admin/policy-drafts/{draft_id}',
            { params: { draft_id: id }, body },
            // The answer of a creation has no ETag of the draft.
            { ifMatch: etag ?? (await readDraft(id)).etag ?? '*' },
          )
    const { draft_id, updated_at } = answer.body
    this.#stored = { id: draft_id, etag: id === undefined ? undefined : answer.etag, text, base }
    void refreshDrafts()
    this.#set({ saved: this.#isDirty() ? { state: 'waiting' } : { state: 'saved', at: updated_at } })
    if (id !== undefined || !this.#isOpen) return
    this.#hold()
    this.#options.onCreated(draft_id)
  }

  /** Reads the version of the other person if there is one. It is the own one if only its answer was lost. */
  async #resolveRefusal(error: unknown): Promise<void> {
    const { id } = this.#stored
    if (id === undefined || !isOvertaken(error)) throw error
    const { draft, etag } = await readDraft(id)
    if (draft.text !== this.#sent) return this.#set({ saved: { state: 'overtaken', theirs: draft, etag } })
    this.#stored = storedOf({ draft, etag })
    this.#set({ saved: this.#isDirty() ? { state: 'waiting' } : { state: 'saved', at: draft.updated_at } })
  }

  #fail(error: unknown): void {
    const isRetried = isTransient(error) || (error instanceof ApiError && error.code === 'unauthorized')
    this.#set({ saved: { state: 'failed', error: error as Error, isRetried } })
    const seconds = error instanceof ApiError ? error.retryAfterSeconds : undefined
    if (isRetried && this.#isOpen) this.#saveIn(seconds === undefined ? retryAfterMs : seconds * 1_000)
  }

  async #close(): Promise<void> {
    this.#isOpen = false
    this.#release()
    if ((await this.save()) || this.#isHeld) return
    const { id } = this.#stored
    keepDraft(keyOf(id), this.#unsaved())
    toast({
      kind: 'bad',
      title: `The last changes of ${this.#state.name} are not saved`,
      text: 'This window keeps them until you open the draft again.',
      link: { to: `/admin/policy/edit?${id === undefined ? 'from=stable' : `draft=${id}`}`, label: 'Open the draft' },
    })
  }
}

/** Save of any session that began last. A read of a draft waits for it. */
let lastSave: Promise<unknown> = Promise.resolve()
export const lastSaveEnded = (): Promise<unknown> => lastSave

const keyOf = (draftId: string | undefined) => `policy draft ${draftId ?? 'new'}`

const storedOf = (start: Start): Stored =>
  start.draft
    ? { id: start.draft.draft_id, etag: start.etag, text: start.draft.text, base: start.draft.base }
    : { id: undefined, etag: undefined, text: start.text, base: start.base }

/** Begins with the changes that were not saved before, if there are any. */
function stateOf(start: Start, stored: Stored): State {
  const { name, text, base } = start.draft ?? start
  const saved: Saved = { state: 'saved', at: start.draft?.updated_at }
  const key = keyOf(stored.id)
  const unsaved = keptDraft(key) as Unsaved | undefined
  dropDraft(key)
  if (!unsaved || unsaved.text === text) return { name, text, base, saved }
  const isOvertakenNow = start.draft !== undefined && unsaved.etag !== stored.etag
  return {
    name,
    text: unsaved.text,
    base: unsaved.base,
    saved: isOvertakenNow ? { state: 'overtaken', theirs: start.draft, etag: stored.etag } : { state: 'waiting' },
  }
}

function listen(target: EventTarget, name: string, act: (event: Event) => void): () => void {
  target.addEventListener(name, act)
  return () => target.removeEventListener(name, act)
}
