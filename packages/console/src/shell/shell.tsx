import { Navigate, Outlet, useMatches } from '@tanstack/react-router'
import { Suspense, useEffect } from 'react'
import { useLostAt } from '../api/connection.ts'
import { homeTenant, useCan, useTenantError } from '../api/me.ts'
import { featureAt, features, permissionAt } from '../features.ts'
import { Button } from '../ui/button.tsx'
import { classes } from '../ui/classes.ts'
import { PageHead } from '../ui/page-head.tsx'
import { NoPermission } from '../ui/problem.tsx'
import { Toasts } from '../ui/toast.tsx'
import { AlertStrip } from './alert-strip.tsx'
import { Connection } from './connection.tsx'
import { useOpenAlerts } from './open-alerts.ts'
import { Overlays } from './overlays.tsx'
import { Sidebar } from './sidebar.tsx'
import { TopBar } from './top-bar.tsx'

/** Frame around every view: navigation, top bar, urgent alerts, and overlays. */
export function Shell() {
  const feature = featureAt(usePath())
  const isLost = useLostAt() !== undefined
  // The line of alerts is above the view. The view appears once that line is known, so that nothing moves.
  const isWaiting = useOpenAlerts().isLoading
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <div className="app">
        <Sidebar current={feature} />
        <TopBar />
        <main className={classes('main', isLost && 'lost', isWaiting && 'waits')} id="main" tabIndex={-1}>
          <Connection />
          <AlertStrip />
          <Content />
        </main>
      </div>
      <Overlays />
      <Toasts />
    </>
  )
}

/** The view. A caller without permission for Home is led to the first view that is allowed. */
function Content() {
  const path = usePath()
  const feature = featureAt(path)
  const permission = permissionAt(path)
  const can = useCan()
  const tenantError = useTenantError()
  useEffect(() => {
    document.title = `${feature?.label ?? 'No such page'} · Holdfast`
  }, [feature])
  if (tenantError) return <ForeignTenant />
  const isRefused = permission !== undefined && !can(permission)
  if (path === '/admin' && isRefused) {
    const first = features.find((f) => f.permission !== undefined && can(f.permission))
    return <Navigate to={first?.path ?? '/admin/me'} replace />
  }
  if (feature && isRefused)
    return (
      <div className="page">
        <PageHead title={feature.label} />
        <NoPermission what={feature.label} permission={permission} />
      </div>
    )
  return (
    <Suspense>
      <Outlet />
    </Suspense>
  )
}

function usePath(): string {
  const path = useMatches().at(-1)?.fullPath ?? ''
  return path.length > 1 ? path.replace(/\/$/, '') : path
}

/** Message for an address whose tenant does not exist or is not accessible to the caller. */
const ForeignTenant = () => (
  <div className="page">
    <PageHead title="Tenant not found" />
    <div className="blank">
      <p>It was deleted, or your account has no access to it. You are signed in to {homeTenant.name}.</p>
      <div className="acts">
        <Button kind="primary" onClick={() => window.location.assign('/admin')}>
          Go to {homeTenant.name}
        </Button>
      </div>
    </div>
  </div>
)
