import { messageOf } from '../../api/api-error.ts'
import { call, type OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { Button } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { formatExact, type TimeZone } from '../../ui/format-time.ts'
import { Frame } from '../../ui/frame.tsx'
import { Problem } from '../../ui/problem.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { useTimeZone } from '../../ui/time-zone.ts'
import { Timestamp } from '../../ui/timestamp.tsx'
import { toast } from '../../ui/toast.tsx'
import { type Device, platformWords } from '../devices/words.ts'

type Posture = OutputOf<'GET /v1/admin/devices/{device_id}/posture'>
type Check = Posture['checks'][number]

/** Result of each check on the last report, and advice for the person at the device. */
export function PostureChecks({ device, inPanel }: { device: Device; inPanel: boolean }) {
  const can = useCan()
  const query = useApi(
    'GET /v1/admin/devices/{device_id}/posture',
    { params: { device_id: device.device_id } },
    { enabled: can('posture:read') },
  )
  if (!can('posture:read')) return null
  const content = query.error ? (
    <Problem error={query.error} retry={query.refetch} what="the posture of this device" />
  ) : (
    query.data && <Checks posture={query.data} />
  )
  const reported = query.data && (
    <span>
      <Reported posture={query.data} />
    </span>
  )
  if (!inPanel)
    return (
      <Frame title="Posture" aside={reported} footer={<SaveAssertion device={device} />}>
        {content}
      </Frame>
    )
  return (
    <section className="sect">
      <div className="row between">
        <h3>Posture</h3>
        <span className="soft xs">{reported}</span>
      </div>
      {content}
    </section>
  )
}

/** Downloads the signed posture assertion of the device, for a party that verifies it. */
function SaveAssertion({ device: { device_id, name } }: { device: Device }) {
  const save = async () => {
    try {
      const { assertion } = await call('GET /v1/posture/assertion', { query: { device_id } })
      saveFile(`${name}-posture.jwt`, 'application/jwt', assertion)
    } catch (e) {
      toast({ kind: 'bad', title: `No assertion for ${name}`, text: messageOf(e) })
    }
  }
  return (
    <Button kind="ghost" size="sm" icon="download" busyLabel="Signing…" onClick={save}>
      Download signed assertion
    </Button>
  )
}

const Reported = ({ posture }: { posture: Posture }) =>
  posture.reported_at === null ? (
    'No report yet'
  ) : (
    <>
      reported <Timestamp at={posture.reported_at} />
      {posture.valid_until && (
        <>
          , holds until <Timestamp at={posture.valid_until} as="clock" />
        </>
      )}
    </>
  )

function Checks({ posture }: { posture: Posture }) {
  const zone = useTimeZone()
  if (posture.checks.length === 0) return <p className="soft">The policy has no posture checks for this device.</p>
  const toFix = posture.checks.filter((check) => markOf(check) !== 'ring' && !check.passed && check.remediation)
  return (
    <>
      <ul className="checks">
        {posture.checks.map((check) => (
          <li key={check.check_id}>
            <span className={classes('d', markOf(check))} />
            <span>
              {check.check_id}
              <span className="vh">: {wordOf(check)}</span>
              <small>{found(check, posture, zone)}</small>
            </span>
            <span className="faint xs">
              {check.severity} · {check.enforcement}
            </span>
          </li>
        ))}
      </ul>
      {toFix.map((check) => (
        <p className="soft xs" key={check.check_id}>
          To fix {check.check_id}: <span className="strong">{check.remediation}</span>
        </p>
      ))}
    </>
  )
}

const markOf = ({ applies, passed, reason_code, enforcement }: Check) =>
  !applies || reason_code === 'no_report' || reason_code === 'fact_missing' || reason_code === 'stale_report'
    ? 'ring'
    : passed
      ? 'ok'
      : enforcement === 'enforce'
        ? 'bad'
        : 'warn'

const wordOf = ({ applies, passed }: Check) => (!applies ? 'does not apply' : passed ? 'passes' : 'fails')

function found(check: Check, { platform }: Posture, zone: TimeZone): string {
  if (!check.applies) return `does not apply to ${platformWords[platform]}`
  if (check.reason_code === 'no_report') return 'the device has not reported'
  if (check.reason_code === 'stale_report') return 'the last report is too old'
  const facts = Object.entries(check.actual).map(([name, value]) => `${name} ${factOf(value, zone)}`)
  return check.passed ? facts.join(', ') : `${facts.join(', ')}; wants ${check.expected}`
}

/** Returns a fact in words, with times in the reader's zone. */
function factOf(value: unknown, zone: TimeZone): string {
  if (value === null) return 'unknown'
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)
    ? formatExact(value, zone)
    : String(value)
}
