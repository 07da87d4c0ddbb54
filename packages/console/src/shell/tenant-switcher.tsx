import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCan, useMe } from '../api/me.ts'
import { selectedTenant } from '../api/selected-tenant.ts'
import { useApi } from '../api/use-api.ts'
import { Icon } from '../ui/icon.tsx'
import { MenuButton } from '../ui/menu.tsx'
import { initialsOf } from './account-menu.tsx'

/** The tenant whose fleet is shown. A platform administrator changes it here; it goes into the address. */
export function TenantSwitcher() {
  const me = useMe()
  const can = useCan()
  const isPlatform = me.roles.includes('platform_admin')
  const { data } = useApi(
    'GET /v1/admin/tenants',
    { query: { limit: 100 } },
    { enabled: isPlatform && can('tenants:read') },
  )
  const navigate = useNavigate()
  const queries = useQueryClient()
  const tenants = data?.items ?? []
  const selected = selectedTenant() ?? me.tenant_id
  const name = tenants.find((t) => t.tenant_id === selected)?.name ?? me.tenant_name
  const label = (
    <>
      <span className="mark" aria-hidden="true">
        {initialsOf(name)}
      </span>{' '}
      <span className="trunc">{name}</span>
    </>
  )
  if (tenants.length < 2) return <span className="tenant static">{label}</span>
  const select = (tenant_id: string) => {
    const tenant = tenant_id === me.tenant_id ? undefined : tenant_id
    void navigate({ to: '.', search: { tenant } as never }).then(() => queries.invalidateQueries())
  }
  return (
    <MenuButton
      label={`${initialsOf(name)} ${name}, change tenant`}
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
        onSelect: () => select(t.tenant_id),
      }))}
    />
  )
}
