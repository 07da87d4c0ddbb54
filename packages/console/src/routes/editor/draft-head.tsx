import { type ReactNode, Suspense, useRef, useState } from 'react'
import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { useNavigation, useSearch } from '../../navigation.ts'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { copyText } from '../../ui/copy-command.ts'
import { MenuButton } from '../../ui/menu.tsx'
import type { MenuItem } from '../../ui/menu-popover.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Segment } from '../../ui/tabs.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { toast } from '../../ui/toast.tsx'
import type { DraftStore } from './draft-store.ts'
import type { Look } from './looks.ts'

/** Drafts offered in the menu. */
const offered = 20

type Props = {
  store: DraftStore
  look: Look
  onLook: (look: Look) => void
  onFormat: (() => void) | undefined
  review: ReactNode
}

/** Name of the draft, its base, when it was saved, and what can be done with it as a whole. */
export function DraftHead({ store, look, onLook, onFormat, review }: Props) {
  const { draft: draftId } = useSearch()
  const { go } = useNavigation()
  const off = useOffReason()('policy:write')
  const file = useRef<HTMLInputElement>(null)
  const [isDiscarding, setDiscarding] = useState(false)
  const drafts = useApi('GET /v1/admin/policy-drafts', { query: { limit: offered } })
  const { name } = store
  const importFile = async (chosen: File | undefined) => {
    if (chosen) store.change(await chosen.text())
    if (file.current) file.current.value = ''
  }
  const others = (drafts.data?.items ?? []).filter(({ draft_id }) => draft_id !== draftId)
  const items: MenuItem[] = [
    {
      id: 'new',
      icon: 'plus',
      label: 'New draft from stable',
      offReason: off,
      onSelect: () => go('/admin/policy/edit', { from: 'stable' }),
    },
    ...others.map(
      (other): MenuItem => ({
        id: other.draft_id,
        icon: 'edit',
        label: `Open ${other.name}${other.updated_by_name ? ` (${other.updated_by_name})` : ''}`,
        onSelect: () => go('/admin/policy/edit', { draft: other.draft_id }),
      }),
    ),
    'line',
    {
      id: 'link',
      icon: 'link',
      label: 'Copy link',
      offReason: draftId ? undefined : 'The draft is not saved yet.',
      onSelect: () => void copyLink(),
    },
    { id: 'import', icon: 'up', label: 'Import file…', offReason: off, onSelect: () => file.current?.click() },
    {
      id: 'export',
      icon: 'download',
      label: 'Export file',
      onSelect: () => saveFile('policy.json', 'application/json', store.text),
    },
    { id: 'format', icon: 'rows', label: 'Format JSON', offReason: off, onSelect: () => onFormat?.() },
    'line',
    {
      id: 'discard',
      icon: 'x',
      label: 'Discard draft…',
      danger: true,
      offReason: off ?? (draftId ? undefined : 'The draft is not saved yet.'),
      onSelect: () => setDiscarding(true),
    },
  ]
  return (
    <div className="ed-head">
      <PageHead
        title={name}
        crumbs={[{ to: '/admin/policy', label: 'Policy' }]}
        sub={
          <>
            {store.base ? `on top of ${store.base.channel} v${store.base.version}` : 'a new policy'} ·{' '}
            <SaveState store={store} />
          </>
        }
        actions={
          <>
            <Segment
              label="Show the draft as"
              options={[
                { value: 'rules', label: 'Rules' },
                { value: 'both', label: 'Both' },
                { value: 'json', label: 'JSON' },
              ]}
              value={look}
              onChange={onLook}
            />
            <MenuButton label="More actions for the draft" items={items} />
            {review}
          </>
        }
      />
      <input
        ref={file}
        type="file"
        className="vh"
        tabIndex={-1}
        accept="application/json,.json"
        aria-label="File to import"
        onChange={(event) => void importFile(event.target.files?.[0])}
      />
      <Suspense>
        {isDiscarding && draftId && <Discard draftId={draftId} store={store} onClose={() => setDiscarding(false)} />}
      </Suspense>
    </div>
  )
}

const copyLink = () =>
  copyText(location.href).then(
    () => toast({ title: 'Link copied', text: 'All people who may read the policy can open the draft.' }),
    () => toast({ kind: 'bad', title: 'The link was not copied', text: location.href }),
  )

function SaveState({ store: { saved } }: { store: DraftStore }) {
  if (saved.state === 'failed' || saved.state === 'overtaken') return <span className="bad">not saved</span>
  if (saved.state === 'waiting') return <>changed</>
  if (saved.state === 'saving') return <>saving…</>
  return saved.at === undefined ? (
    <>not changed</>
  ) : (
    <>
      saved <Timestamp at={saved.at} as="clock" />
    </>
  )
}

function Discard({ draftId, store, onClose }: { draftId: string; store: DraftStore; onClose: () => void }) {
  const { go } = useNavigation()
  const { name } = store
  const [error, setError] = useState<Error>()
  const discard = async () => {
    try {
      await store.discard()
      toast({ title: `${name} discarded` })
      go('/admin/policy')
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Confirm
      title={`Discard the draft ${name}?`}
      objects={{ names: [] }}
      effects={[{ icon: 'x', text: 'Its text is deleted for good. Published versions stay as they are.' }]}
      keepLabel="Keep the draft"
      deedLabel="Discard the draft"
      busyLabel="Discarding…"
      command={`holdfast policy draft delete ${draftId}`}
      problem={error && <ChangeProblem error={error} />}
      onConfirm={discard}
      onClose={onClose}
    />
  )
}
