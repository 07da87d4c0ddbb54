import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import { useCan } from '../api/me.ts'
import { useApi } from '../api/use-api.ts'
import { type Search, useNavigation } from '../navigation.ts'
import { copyCommand } from '../ui/copy-command.ts'
import { Icon } from '../ui/icon.tsx'
import { Hint, Kbd } from '../ui/kbd.tsx'
import { takeEarly } from './overlay.ts'
import { useOwnedDevices } from './owned-devices.ts'
import { type PaletteGroup, type PaletteItem, paletteGroups } from './palette-items.ts'

const perKind = 5

/** Search and commands: a combobox over a listbox. A dangerous action opens its confirmation and never runs at once. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const { groups, error, isBusy, isCurrent } = useSearch(text, onClose)
  const items = groups.flatMap((group) => group.items)
  const chosen = items[Math.min(at, items.length - 1)]
  // `Enter` before the response waits for it and runs its first line, never a line of an earlier text.
  const [isWaiting, setWaiting] = useState(false)
  useEffect(() => {
    const early = takeEarly()
    setText(early.text)
    setWaiting(early.isEntered)
  }, [])
  useEffect(() => {
    if (!isWaiting || !isCurrent) return
    setWaiting(false)
    if (chosen) run(chosen, onClose)
  }, [isWaiting, isCurrent, chosen, onClose])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setAt((now) => (Math.min(now, items.length - 1) + step + items.length) % Math.max(items.length, 1))
    } else if (event.key === 'Enter' && (chosen || !isCurrent)) {
      event.preventDefault()
      if (isCurrent && chosen) run(chosen, onClose)
      else setWaiting(true)
    } else if (event.key === 'c' && (event.ctrlKey || event.metaKey) && chosen?.command && !isTextSelected(event)) {
      event.preventDefault()
      void copyCommand(chosen.command)
    }
  }
  return (
    <PaletteDialog onClose={onClose}>
      <div className="ask">
        <Icon name="search" />
        {/* The list follows the input, so aria-activedescendant names the current line for assistive technology. */}
        <input
          role="combobox"
          aria-expanded={items.length > 0}
          aria-controls="palette-list"
          aria-activedescendant={chosen && optionId(chosen)}
          aria-label="Search or run"
          placeholder="Device, user, gateway, page…"
          autoComplete="off"
          maxLength={64}
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            setAt(0)
            setWaiting(false)
          }}
          onKeyDown={onKeyDown}
        />
        <Kbd>Esc</Kbd>
      </div>
      {error && (
        <p className="soft nothing" role="status">
          {error.code === 'rate_limited'
            ? `Too many searches. The next one can be sent in ${error.retryAfterSeconds ?? 1} s.`
            : `Objects were not searched: ${error.detail}`}{' '}
          Views and commands are found without the server.
        </p>
      )}
      <Results {...{ groups, chosen, text, isBusy }} onRun={(item) => run(item, onClose)} />
      <footer className="hints hide-s" aria-hidden="true">
        <Hint keys={['↑', '↓']} does="choose" />
        <Hint keys={['↵']} does="run" />
        <Hint keys={['Ctrl', 'C']} does="copy as command" />
        <Hint keys={['>']} does="commands only" />
      </footer>
    </PaletteDialog>
  )
}

const isTextSelected = ({ currentTarget }: KeyboardEvent): boolean =>
  currentTarget instanceof HTMLInputElement && currentTarget.selectionStart !== currentTarget.selectionEnd

function run(item: PaletteItem, onClose: () => void): void {
  onClose()
  item.run()
}
const optionId = (item: PaletteItem) => `palette-${item.id}`

/** Time without a key before a request is sent. */
const typingMs = 120

function useSearch(text: string, onClose: () => void) {
  const can = useCan()
  const { go } = useNavigation()
  const typed = text.trim()
  const q = useSettled(typed)
  const asks = isSearch(q)
  const { data, error, isFetching, isPlaceholderData, isPending } = useApi(
    'GET /v1/admin/search',
    { query: { q: asks ? q : '-', limit: perKind } },
    { enabled: asks, keepsLast: true },
  )
  const isOld = isPlaceholderData || q !== typed
  const { owned, isPending: areDevicesPending } = useOwnedDevices(asks && !isOld ? data?.items : undefined, perKind)
  const groups = useMemo(() => {
    const close = (to: string, search?: Search) => {
      onClose()
      go(to, search)
    }
    const found = typed === '' || typed.startsWith('>') ? [] : (data?.items ?? [])
    // Of an older response only names that contain the new text are shown, so that no wrong line runs.
    const hits = isOld ? found.filter(({ name }) => name.toLowerCase().includes(typed.toLowerCase())) : found
    return paletteGroups(typed, { hits: error ? [] : hits, owned: error ? undefined : owned }, can, close)
  }, [typed, isOld, error, data, owned, can, go, onClose])
  return {
    groups,
    error: asks ? error : null,
    isBusy: asks && (isFetching || areDevicesPending || q !== typed),
    /** True if the groups belong to the text in the field. */
    isCurrent:
      !isSearch(typed) || (q === typed && !isPlaceholderData && !areDevicesPending && (!isPending || error !== null)),
  }
}

const isSearch = (text: string): boolean => text !== '' && !text.startsWith('>')

/** Returns a text after it has not changed for a while. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), typingMs)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

type ResultsProps = {
  groups: readonly PaletteGroup[]
  chosen: PaletteItem | undefined
  text: string
  isBusy: boolean
  onRun: (item: PaletteItem) => void
}

function Results({ groups, chosen, text, isBusy, onRun }: ResultsProps) {
  useEffect(() => {
    if (chosen) document.getElementById(optionId(chosen))?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  return (
    <div role="listbox" id="palette-list" aria-label="Results" aria-busy={isBusy} tabIndex={-1}>
      {groups.length === 0 && !isBusy && <p className="soft nothing">Nothing is called “{text.trim()}”.</p>}
      {groups.map(({ label, items }) => (
        <fieldset key={label} aria-label={label}>
          <span className="cap">{label}</span>
          {items.map((item) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the focus and the keys
            <div
              key={item.id}
              id={optionId(item)}
              role="option"
              tabIndex={-1}
              aria-selected={item === chosen}
              onClick={() => onRun(item)}
            >
              <Icon name={item.icon} />
              <span className="trunc grow">
                <Marked label={item.label} text={text.trim()} /> {item.sub && <span className="sub">{item.sub}</span>}
              </span>
              {item.status && <span className="soft xs">{item.status}</span>}
              {item === chosen ? <Kbd>↵</Kbd> : item.keys?.map((key) => <Kbd key={key}>{key}</Kbd>)}
            </div>
          ))}
        </fieldset>
      ))}
    </div>
  )
}

/** Label with the typed text marked. */
function Marked({ label, text }: { label: string; text: string }) {
  const at = text === '' ? -1 : label.toLowerCase().indexOf(text.toLowerCase())
  if (at < 0) return label
  return (
    <>
      {label.slice(0, at)}
      <span className="hit">{label.slice(at, at + text.length)}</span>
      {label.slice(at + text.length)}
    </>
  )
}

function PaletteDialog({ onClose, children }: { onClose: () => void; children: React.ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current
    const before = document.activeElement
    dialog?.showModal()
    dialog?.querySelector('input')?.focus()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes it by keyboard
    <dialog
      ref={ref}
      className="backdrop top"
      aria-label="Search or run"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => event.target === event.currentTarget && onClose()}
    >
      <div className="palette">{children}</div>
    </dialog>
  )
}
