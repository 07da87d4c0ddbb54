import { type FormEvent, type ReactNode, useState } from 'react'
import { fieldMessageOf } from '../../api/api-error.ts'
import { call, type OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Frame } from '../../ui/frame.tsx'
import { NoPermission } from '../../ui/problem.tsx'
import { Status } from '../../ui/status.tsx'

type Explanation = OutputOf<'POST /v1/admin/policy/explain'>

/** Device or user that asks, and its name. */
type Subject = { of: { device_id: string } | { user_id: string }; name: string }
type Props = Subject & { inPanel: boolean; title?: string; help?: ReactNode }

/** Shows whether a device or a user reaches a target now and the reason, from the policy evaluator of the server. */
export function ExplainAccess({ of, name, inPanel, title = 'What may it reach?', help }: Props) {
  const can = useCan()
  const [target, setTarget] = useState('')
  const [answer, setAnswer] = useState<{ target: string; explanation: Explanation }>()
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  if (!can('policy:read')) return <NoPermission what="the policy" permission="policy:read" />
  const ask = async () => {
    const wanted = target.trim()
    if (wanted === '') return setError('Name a resource or an address, for example git or 10.20.0.5:tcp/443.')
    setBusy(true)
    setError(undefined)
    try {
      const body = { ...of, target: wanted }
      setAnswer({ target: wanted, explanation: await call('POST /v1/admin/policy/explain', { body }) })
    } catch (e) {
      setAnswer(undefined)
      setError(fieldMessageOf(e))
    }
    setBusy(false)
  }
  const content = (
    <>
      <form
        className="stack"
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          void ask()
        }}
      >
        <TextField
          label="Resource or address"
          help={help}
          placeholder="git, git:tcp/22 or 10.20.0.5:tcp/443"
          value={target}
          onChange={setTarget}
          maxLength={256}
          {...(error !== undefined && { error })}
        />
        <div className="row">
          <Button type="submit" busyLabel="Asking…" isBusy={isBusy}>
            Explain access
          </Button>
        </div>
      </form>
      <div aria-live="polite">{answer && <Answer {...answer} name={name} />}</div>
    </>
  )
  if (!inPanel) return <Frame title={title}>{content}</Frame>
  return (
    <section className="sect">
      <h3>{title}</h3>
      {content}
    </section>
  )
}

type AnswerProps = { target: string; explanation: Explanation; name: string }

function Answer({ target, explanation, name }: AnswerProps) {
  const { decision, blocked_by, would_allow, rule_id, reason, version, channel } = explanation
  return (
    <div className="stack">
      <p>
        <Status kind={decision === 'allow' ? 'ok' : 'bad'}>
          {name} {decision === 'allow' ? 'reaches' : 'does not reach'} {target}
        </Status>
      </p>
      <p className="soft">
        {reason}{' '}
        {rule_id && (
          <>
            Rule <code>{rule_id}</code>,{' '}
          </>
        )}
        {channel} v{version}.
      </p>
      {blocked_by.length > 0 && (
        <ul className="effects">
          {blocked_by.map(({ kind, detail }) => (
            <li key={kind + detail}>
              <span className="d bad" />
              <span>{detail}</span>
            </li>
          ))}
        </ul>
      )}
      {would_allow.length > 0 && (
        <>
          <h4>What is missing</h4>
          <ul className="effects">
            {would_allow.slice(0, 5).map(({ rule_id: rule, sentence }) => (
              <li key={rule}>
                <span className="d ring" />
                <span>
                  <code>{rule}</code> {sentence}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
