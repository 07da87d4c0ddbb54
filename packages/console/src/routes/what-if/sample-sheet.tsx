import { useState } from 'react'
import { call } from '../../api/client.ts'
import { Button } from '../../ui/button.tsx'
import { ComboBox } from '../../ui/combo-box.tsx'
import type { ComboOption } from '../../ui/combo-box-field.tsx'
import { Icon } from '../../ui/icon.tsx'
import { ListField } from '../../ui/list-field.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import type { Sampled } from './sample.ts'

const offered = 20

type Chosen = { devices: readonly Sampled[]; targets: readonly string[] }
type Props = Chosen & {
  names: readonly string[]
  limits: { readonly devices: number; readonly targets: number }
  onChange: (chosen: Chosen) => void
  onClose: () => void
}

async function searchDevices(q: string, signal: AbortSignal): Promise<ComboOption[]> {
  const { items } = await call('GET /v1/admin/devices', { query: { ...(q && { q }), limit: offered } }, { signal })
  return items.map(({ device_id, name, user_name }) => ({ id: device_id, label: name, sub: user_name ?? undefined }))
}

/** Chooses the devices and targets of the sample. */
export function SampleSheet({ devices, targets, names, limits, onChange, onClose }: Props) {
  const [draft, setDraft] = useState<Chosen>({ devices, targets })
  const addDevice = (option: ComboOption | undefined) => {
    if (!option || draft.devices.some(({ id }) => id === option.id)) return
    const device = { id: option.id, name: option.label, user: option.sub ?? null }
    setDraft({ ...draft, devices: [...draft.devices, device] })
  }
  const isFull = { devices: draft.devices.length >= limits.devices, targets: draft.targets.length > limits.targets }
  return (
    <Sheet
      title="Change the sample"
      onClose={onClose}
      footer={
        <>
          <span className="grow" />
          <Button onClick={onClose}>Keep sample</Button>
          <Button
            kind="primary"
            offReason={draft.devices.length * draft.targets.length === 0 ? 'Choose a device and a target.' : undefined}
            onClick={() => onChange(draft)}
          >
            Show sample
          </Button>
        </>
      }
    >
      {isFull.devices ? (
        <p className="soft">A sample has at most {limits.devices} devices.</p>
      ) : (
        <ComboBox
          key={draft.devices.length}
          label="Devices"
          placeholder="Add a device"
          value={undefined}
          onChange={addDevice}
          search={searchDevices}
        />
      )}
      <Picked
        label="Chosen devices"
        items={draft.devices.map(({ id, name }) => ({ id, name }))}
        onRemove={(id) => setDraft({ ...draft, devices: draft.devices.filter((device) => device.id !== id) })}
      />
      <ListField
        label="Targets"
        placeholder="wiki, wiki:tcp/443, 10.1.2.3:tcp/22"
        error={isFull.targets ? `A sample has at most ${limits.targets} targets.` : undefined}
        value={draft.targets}
        search={async () => names}
        onChange={(next) => setDraft({ ...draft, targets: next.slice(0, limits.targets) })}
      />
    </Sheet>
  )
}

type PickedProps = { label: string; items: readonly { id: string; name: string }[]; onRemove: (id: string) => void }

const Picked = ({ label, items, onRemove }: PickedProps) =>
  items.length > 0 && (
    <ul className="row wrap picked" aria-label={label}>
      {items.map(({ id, name }) => (
        <li key={id} className="chip">
          <span>{name}</span>
          <button type="button" aria-label={`Remove ${name}`} onClick={() => onRemove(id)}>
            <Icon name="x" size="s" />
          </button>
        </li>
      ))}
    </ul>
  )
