import { Link, useRouter } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useLostAt } from '../api/connection.ts'
import { serverVersion, useCan } from '../api/me.ts'
import { type Feature, features, groups } from '../features.ts'
import { Brand } from '../ui/brand.tsx'
import { Icon } from '../ui/icon.tsx'
import { Status } from '../ui/status.tsx'
import { useTimeZone } from '../ui/time-zone.ts'
import { useOpenAlerts } from './open-alerts.ts'

/** Navigation. On narrow screens it is a popover of the menu button. */
export function Sidebar({ current }: { current: Feature | undefined }) {
  const can = useCan()
  const ref = useRef<HTMLElement>(null)
  const router = useRouter()
  useEffect(
    () =>
      router.subscribe('onBeforeNavigate', () => {
        if (ref.current?.matches(':popover-open')) ref.current.hidePopover()
      }),
    [router],
  )
  const shown = groups.flatMap((group) => {
    const items = features.filter((f) => f.group === group.id && !f.isHidden)
    const isAllowed = items.some((f) => f.permission === undefined || can(f.permission))
    return isAllowed ? [{ ...group, items }] : []
  })
  return (
    <nav className="sidebar" id="nav" popover="auto" aria-label="Main" ref={ref}>
      <Link className="brand" to="/admin">
        <Brand />
        Holdfast
      </Link>
      <ul className="nav">
        {shown.map(({ id, label, icon, items }) => {
          const isHere = current?.group === id && !current.isHidden
          const first = items.find((f) => f.permission === undefined || can(f.permission))
          return (
            <li key={id} className={isHere ? 'here' : undefined}>
              <Link className="group" to={first?.path ?? '/admin'}>
                <Icon name={icon} />
                {label}
                {id === 'overview' && !isHere && <AlertCount />}
              </Link>
              {isHere && <Items items={items} current={current} />}
            </li>
          )
        })}
      </ul>
      <Foot />
    </nav>
  )
}

function Items({ items, current }: { items: readonly Feature[]; current: Feature | undefined }) {
  return (
    <ul className="items">
      {items.map((feature) => (
        <li key={feature.path}>
          <Link
            to={feature.path}
            activeOptions={{ exact: true }}
            {...(feature === current && { 'aria-current': 'page' as const })}
          >
            {feature.label}
            {feature.path === '/admin/alerts' && <AlertCount />}
          </Link>
        </li>
      ))}
    </ul>
  )
}

function AlertCount() {
  const { count, shown } = useOpenAlerts()
  if (count === 0) return null
  return (
    <span className="count">
      <span aria-hidden="true">{shown}</span>
      <span className="vh"> {shown} open</span>
    </span>
  )
}

function Foot() {
  const isConnected = useLostAt() === undefined
  const zone = useTimeZone()
  return (
    <div className="sidefoot">
      <Status kind={isConnected ? 'ok' : 'bad'}>
        {isConnected ? 'Control plane ready' : 'Control plane unreachable'}
      </Status>
      <span className="num">
        Holdfast {serverVersion} · times in {zone === 'local' ? 'local time' : 'UTC'}
      </span>
    </div>
  )
}
