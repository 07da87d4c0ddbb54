import { useState } from 'react'
import { call, type OutputOf } from '../../api/client.ts'
import { withStepUp } from '../../api/step-up.ts'
import type { UserRef } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { CheckboxField } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { useGateways } from '../device/lost-device-preview.tsx'
import { PlaybookRun } from '../device/playbook-run.tsx'
import { useRunOf } from '../device/use-run-of.ts'
import { nameOf } from '../users/words.ts'
import { expectUserChange, refreshUsers } from './change-users.ts'
import { effectsOf } from './deed-words.ts'
import { useRunning } from './use-running.ts'

type Run = OutputOf<'POST /v1/admin/incident/playbook'>['run']
type Props = { user: UserRef; onClose: () => void }
const initial = { keys: true, suspend: false, devices: false, reason: '' }
type Choice = typeof initial

/** The playbook for a user whose account may be in other hands: one sheet until all gateways have confirmed. */
export function CompromisedUser({ user, onClose }: Props) {
  const [choice, setChoice] = useDraft<Choice>(`compromised ${user.user_id}`, initial)
  const [startedAt, setStartedAt] = useState<number>()
  const [result, setResult] = useState<Run>()
  const [error, setError] = useState<Error>()
  const gateways = useGateways()
  const name = nameOf(user)
  const run = useRunOf('compromised_user', { user_id: user.user_id }, startedAt, result)
  const start = async () => {
    setError(undefined)
    setStartedAt(Date.now())
    expectUserChange()
    const reason = choice.reason.trim()
    const body = { workflow: 'compromised_user', params: paramsOf(user, choice), ...(reason && { reason }) }
    try {
      setResult((await withStepUp(() => call('POST /v1/admin/incident/playbook', { body }))).run)
      await refreshUsers()
    } catch (e) {
      setError(e as Error)
      setStartedAt(undefined)
    }
  }
  if (startedAt !== undefined)
    return <PlaybookRun {...{ name, startedAt, run, gateways, onClose }} words={runWords(name)} />
  return (
    <Sheet
      title={`Compromised user: ${name}`}
      onClose={onClose}
      footer={
        <>
          <CopyButton kind="ghost" text={commandOf(user, choice)} label="Copy as command" />
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger-solid" onClick={start}>
            Lock {name}
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void start()
        }}
      >
        <p className="soft">
          The lock holds until somebody releases it. Password and second factor stay: reset them before the release.
        </p>
        <Preview user={user} choice={choice} />
        <CheckboxField
          label="Revoke API keys and enrollment tokens for good"
          help="Those that the user owns or created."
          value={choice.keys}
          onChange={(keys) => setChoice({ ...choice, keys })}
        />
        <CheckboxField
          label="Also suspend the account"
          help="It stays suspended after the release of the lock."
          value={choice.suspend}
          onChange={(suspend) => setChoice({ ...choice, suspend })}
        />
        <CheckboxField
          label="Also revoke the devices for good"
          help="The user must enroll each device again."
          value={choice.devices}
          onChange={(devices) => setChoice({ ...choice, devices })}
        />
        <TextField
          label="Reason"
          help="Recorded in the audit log."
          placeholder="Entered the password on a false page"
          value={choice.reason}
          onChange={(reason) => setChoice({ ...choice, reason })}
          maxLength={500}
          optional
        />
        {error && <ChangeProblem error={error} />}
      </form>
    </Sheet>
  )
}

function Preview({ user, choice }: { user: UserRef; choice: Choice }) {
  const running = useRunning(user.user_id)
  const [sessions] = effectsOf('delete', [user], running)
  const devices = user.device_count ?? 0
  const effects = [
    { icon: 'lock' as const, text: `Locks ${nameOf(user)}: no sign-in, no VPN session` },
    ...(sessions ? [sessions] : []),
    ...(devices > 0 && !choice.devices
      ? [{ icon: 'laptop' as const, text: `${devices === 1 ? '1 device has' : `${devices} devices have`} no access` }]
      : []),
    { icon: 'server' as const, text: 'Waits until every reachable gateway confirms' },
  ]
  return (
    <ul className="effects">
      {effects.map(({ icon, text }) => (
        <li key={text}>
          <Icon name={icon} />
          <span>{text}</span>
        </li>
      ))}
    </ul>
  )
}

const runWords = (name: string) => ({
  busy: `Locking ${name}…`,
  done: `${name} is locked`,
  note: 'The user has access again after somebody releases the lock.',
})

const paramsOf = ({ user_id }: UserRef, { keys, suspend, devices }: Choice) => ({
  user_id,
  revoke_api_keys: keys,
  ...(suspend && { suspend: true }),
  ...(devices && { revoke_devices: true }),
})

const commandOf = (user: UserRef, choice: Choice): string =>
  `holdfast incident run compromised_user ${Object.entries(paramsOf(user, choice))
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')}`
