import { homeTenant, useCan, useMe } from '../api/me.ts'
import { selectedTenant } from '../api/selected-tenant.ts'
import { useApi } from '../api/use-api.ts'
import { featureAt } from '../features.ts'
import { formatInitials } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { MenuButton } from '../ui/menu.tsx'

/** Tenant whose fleet is shown. A platform administrator switches it here; the address stores it. */
export function TenantSwitcher() {
  const me = useMe()
  const can = useCan()
  const isPlatform = me.roles.includes('platform_admin')
  const { data } = useApi(
    'GET /v1/admin/tenants',
    { query: { limit: 100 } },
    { enabled: isPlatform && can('tenants:read') },
  )
  const tenants = data?.items ?? []
  const selected = selectedTenant() ?? homeTenant.id
  const name = tenants.find((t) => t.tenant_id === selected)?.name ?? (me.tenant_name || '…')
  const label = (
    <>
      <span className="mark" aria-hidden="true">
        {formatInitials(name)}
      </span>{' '}
      <span className="trunc">{name}</span>
    </>
  )
  if (tenants.length < 2) return <span className="tenant static">{label}</span>
  return (
    <MenuButton
      label={`${formatInitials(name)} ${name}, change tenant`}
      className="tenant"
      trigger={
        <>
          {label}
          <Icon name="updown" size="s" />
        </>
      }
      items={tenants.map((t) => ({
        id: t.tenant_id,
        label: t.name,
        ...(t.tenant_id === selected && { icon: 'check' as const }),
        onSelect: () => openTenant(t.tenant_id),
      }))}
    />
  )
}

/** Loads the page anew, so that no list, stream or draft of one tenant stays in the page of another. */
function openTenant(id: string): void {
  const { pathname } = window.location
  const path = featureAt(pathname)?.path ?? '/admin'
  window.location.assign(id === homeTenant.id ? path : `${path}?tenant=${id}`)
}
