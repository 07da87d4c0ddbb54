import type { ApiError } from '../../api/api-error.ts'
import { useOffReason } from '../../api/me.ts'
import { CheckboxField } from '../../ui/choices.tsx'
import { NumberField, SelectField, TextArea, TextField } from '../../ui/fields.tsx'
import { errorOf } from '../../ui/problem.tsx'
import { platformWords } from '../devices/words.ts'
import { GroupsPicker, UserPicker } from './pickers.tsx'
import { lifetimes, type TokenDraft } from './token-draft.ts'

type Props = { draft: TokenDraft; onChange: (change: Partial<TokenDraft>) => void; error: ApiError | undefined }

/** Settings of a new token. The defaults suit a single device that is enrolled today. */
export function TokenFields({ draft, onChange, error = undefined }: Props) {
  const off = useOffReason()
  const wrong = (field: string) => errorOf(error ?? null, field)
  return (
    <>
      <TextField
        label="Name"
        optional
        help="The list of tokens and the audit log show it. The device does not see it."
        placeholder="Ana, replacement laptop"
        maxLength={128}
        value={draft.name}
        onChange={(name) => onChange({ name })}
        error={wrong('name')}
      />
      <div className="fgrid">
        <NumberField
          label="Devices"
          help="Maximum number of devices. 0: no limit."
          min={0}
          max={1_000_000}
          value={draft.maxUses}
          onChange={(maxUses) => onChange({ maxUses })}
          error={wrong('max_uses')}
        />
        <SelectField
          label="Valid for"
          options={lifetimes}
          value={draft.lifetime as (typeof lifetimes)[number]['value']}
          onChange={(lifetime) => onChange({ lifetime })}
          error={wrong('expires_in_seconds')}
        />
      </div>
      <UserPicker value={draft.user} onChange={(user) => onChange({ user })} error={wrong('user_id')} />
      <GroupsPicker value={draft.groups} onChange={(groups) => onChange({ groups })} error={wrong('group_ids')} />
      <TextField
        label="Tags of the devices"
        optional
        help="Separated by spaces. Policy rules can use them."
        value={draft.tags}
        onChange={(tags) => onChange({ tags })}
        error={wrong('tags')}
        offReason={off('devices:write')}
      />
      <Platforms draft={draft} onChange={onChange} />
      <TextArea
        label="Only from these addresses"
        optional
        isMono
        rows={2}
        help="Networks, for example 10.20.0.0/16. Empty: any address."
        value={draft.addresses}
        onChange={(addresses) => onChange({ addresses })}
        error={wrong('allowed_cidrs')}
      />
      <Options draft={draft} onChange={onChange} />
    </>
  )
}

type PartProps = Omit<Props, 'error'>

function Platforms({ draft, onChange }: PartProps) {
  const chosen = draft.platforms
  return (
    <fieldset className="f choices">
      <legend className="lab">
        Platforms <span className="opt">none selected: all</span>
      </legend>
      <div className="row wrap">
        {(Object.keys(platformWords) as (keyof typeof platformWords)[]).map((platform) => (
          <CheckboxField
            key={platform}
            label={platformWords[platform]}
            value={chosen.includes(platform)}
            onChange={(isOn) =>
              onChange({ platforms: isOn ? [...chosen, platform] : chosen.filter((one) => one !== platform) })
            }
          />
        ))}
      </div>
    </fieldset>
  )
}

const Options = ({ draft, onChange }: PartProps) => (
  <fieldset className="stack tight">
    <legend className="vh">Options</legend>
    <CheckboxField
      label="An administrator approves each device"
      help="The device waits without access until then."
      value={draft.requiresApproval}
      onChange={(requiresApproval) => onChange({ requiresApproval })}
    />
    <CheckboxField
      label="Ephemeral"
      help="A device that is not seen for an hour is revoked. For CI runners."
      value={draft.isEphemeral}
      onChange={(isEphemeral) => onChange({ isEphemeral })}
    />
  </fieldset>
)
