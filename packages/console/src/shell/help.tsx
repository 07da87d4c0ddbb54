import { useCan } from '../api/me.ts'
import { features } from '../features.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Kbd } from '../ui/kbd.tsx'
import { documentation } from './documentation.ts'

const everywhere = [
  { keys: ['Ctrl', 'K'], does: 'Search, or run a command' },
  { keys: ['?'], does: 'Show this list' },
  { keys: ['/'], does: 'Filter the list' },
]
const inLists = [
  { keys: ['j', 'k'], does: 'Next row, previous row' },
  { keys: ['Enter'], does: 'Open the row' },
  { keys: ['x'], does: 'Select the row' },
  { keys: ['Shift', 'X'], does: 'Select up to the row' },
  { keys: ['Ctrl', 'A'], does: 'Select the page' },
  { keys: ['Shift', 'R'], does: 'Refresh' },
  { keys: ['Esc'], does: 'Close the panel, or clear the selection' },
]
const onDevices = [
  { keys: ['l'], does: 'Lost device' },
  { keys: ['r'], does: 'Revoke' },
  { keys: ['a'], does: 'Approve a pending device' },
]

const onUsers = [
  { keys: ['u'], does: 'Unlock' },
  { keys: ['p'], does: 'Set password' },
  { keys: ['s'], does: 'Suspend or reactivate' },
  { keys: ['e'], does: 'Edit' },
]
const onGroups = [
  { keys: ['a'], does: 'Add members' },
  { keys: ['e'], does: 'Rename' },
]
const onAlerts = [
  { keys: ['a'], does: 'Acknowledge' },
  { keys: ['p'], does: 'Approve the pending devices' },
]

/** All keys of the console. Keys of views that the caller may not see are left out. */
export function Help({ onClose }: { onClose: () => void }) {
  const can = useCan()
  const views = features
    .filter((f) => f.shortcut !== undefined && (f.permission === undefined || can(f.permission)))
    .map((f) => ({ keys: ['g', f.shortcut ?? ''], does: f.label }))
  return (
    <Dialog
      title="Keyboard shortcuts"
      wide
      onClose={onClose}
      footer={
        <>
          <a className="btn ghost" href={documentation}>
            Documentation
          </a>
          <Button kind="primary" autoFocus onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <div className="shortcuts">
        <Keys title="Everywhere" rows={everywhere} />
        <Keys title="Go to" rows={views} />
        <Keys title="In lists" rows={inLists} />
        <Keys title="On a device" rows={onDevices} />
        <Keys title="On a user" rows={onUsers} />
        <Keys title="On a group" rows={onGroups} />
        <Keys title="On an alert" rows={onAlerts} />
      </div>
    </Dialog>
  )
}

function Keys({ title, rows }: { title: string; rows: readonly { keys: readonly string[]; does: string }[] }) {
  return (
    <section className="sect">
      <h3>{title}</h3>
      <dl>
        {rows.map(({ keys, does }) => (
          <div key={does} className="shortcut">
            <dt>{does}</dt>
            <dd className="row tight">
              {keys.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
