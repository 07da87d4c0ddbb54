import { useApi } from '../../api/use-api.ts'
import { formatCount, formatNumber } from '../../ui/format.ts'
import { KeyValues } from '../../ui/key-values.tsx'
import { Status } from '../../ui/status.tsx'

/** Gateways, policy, devices, users and plan of the tenant, from the overview. */
export function HereNow() {
  const { data } = useApi('GET /v1/admin/dashboard/overview', {})
  if (!data) return null
  const { healthy, degraded, draining, down, never_seen, pending: unstarted } = data.gateways.status
  const others = [
    degraded > 0 && `${degraded} degraded`,
    draining > 0 && `${draining} draining`,
    down > 0 && `${down} down`,
    never_seen + unstarted > 0 && `${never_seen + unstarted} not started yet`,
  ].filter(Boolean)
  const stable = data.policy.find((one) => one.channel === 'stable')
  const devices = data.usage.find((one) => one.metric === 'devices')
  const { active, pending } = data.devices.effective_status
  const none = <span className="faint">none yet</span>
  return (
    <section className="sect">
      <h2>In this tenant</h2>
      <div className="frame">
        <div className="in">
          <KeyValues
            rows={[
              [
                'Gateways',
                healthy > 0 || others.length > 0 ? (
                  <Status kind={others.length > 0 ? 'warn' : 'ok'}>
                    {[`${formatNumber(healthy)} healthy`, ...others].join(', ')}
                  </Status>
                ) : (
                  none
                ),
              ],
              ['Policy', stable ? `stable v${stable.version}` : none],
              [
                'Devices',
                active + pending > 0
                  ? [`${formatNumber(active)} active`, pending > 0 && `${formatNumber(pending)} pending`]
                      .filter(Boolean)
                      .join(', ')
                  : none,
              ],
              ['Users', formatCount(data.users.active, 'active user')],
              [
                'Plan',
                devices && (devices.limit === null ? 'no limit on devices' : `${formatNumber(devices.limit)} devices`),
              ],
            ]}
          />
        </div>
      </div>
    </section>
  )
}
