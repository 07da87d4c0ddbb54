import { Outlet, useMatches } from '@tanstack/react-router'
import { Suspense, useEffect } from 'react'
import { useCan } from '../api/me.ts'
import { featureAt, permissionAt } from '../features.ts'
import { NoPermission } from '../ui/problem.tsx'
import { Toasts } from '../ui/toast.tsx'
import { AlertStrip } from './alert-strip.tsx'
import { Connection } from './connection.tsx'
import { Overlays } from './overlays.tsx'
import { Sidebar } from './sidebar.tsx'
import { TopBar } from './top-bar.tsx'

/** The frame around every view: navigation, top bar, what is wrong right now, and the overlays. */
export function Shell() {
  const feature = featureAt(usePath())
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <div className="app">
        <Sidebar current={feature} />
        <TopBar />
        <main className="main" id="main" tabIndex={-1}>
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

function Content() {
  const path = usePath()
  const feature = featureAt(path)
  const permission = permissionAt(path)
  const can = useCan()
  useEffect(() => {
    if (feature) document.title = `${feature.label} · Holdfast`
  }, [feature])
  if (feature && permission && !can(permission)) return <NoPermission what={feature.label} permission={permission} />
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
