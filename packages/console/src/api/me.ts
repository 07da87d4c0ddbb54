import type { Permission } from '@holdfast/contract/vocabulary'
import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { ApiError } from './api-error.ts'
import { type Me, readBoot } from './boot.ts'
import { call } from './client.ts'
import { useLostAt } from './connection.ts'
import { selectedTenant } from './selected-tenant.ts'

const boot = readBoot()
export const serverVersion = boot.version
/** Tenant of the session, even while another tenant is shown. */
export const homeTenant = { id: boot.me.tenant_id, name: boot.me.tenant_name }

/**
 * Query of the signed-in user. The page has the data for the home tenant from its start; for another one it reads it.
 */
const meQuery = () => {
  const tenant = selectedTenant()
  const isHome = tenant === undefined || tenant === homeTenant.id
  return {
    queryKey: ['GET /v1/admin/me', {}, tenant],
    queryFn: ({ signal }: { signal: AbortSignal }) => call('GET /v1/admin/me', {}, { signal }),
    ...(isHome ? { initialData: boot.me } : { placeholderData: { ...boot.me, tenant_id: tenant, tenant_name: '' } }),
    staleTime: 60_000,
  }
}

/** Returns the signed-in user. A change of roles or of the second factor is read again. */
export const useMe = (): Me => useQuery<Me, ApiError>(meQuery()).data ?? boot.me

/** Returns the error that prevents access to the tenant in the address; null if access is allowed. */
export const useTenantError = (): ApiError | null => {
  const { error } = useQuery<Me, ApiError>(meQuery())
  return error && (error.status === 403 || error.status === 404 || error.status === 400) ? error : null
}

/**
 * Returns a function that checks whether the caller has a permission.
 *
 * @example const can = useCan(); can('devices:write')
 */
export function useCan(): (permission: Permission) => boolean {
  const { permissions } = useMe()
  return useCallback((permission) => permissions.includes(permission), [permissions])
}

/**
 * Returns the reason why a control is off: the connection is lost, or a permission is missing. Undefined if it is on.
 */
export function useOffReason(): (permission: Permission) => string | undefined {
  const can = useCan()
  const isLost = useLostAt() !== undefined
  return useCallback(
    (permission) =>
      isLost ? 'The server does not answer.' : can(permission) ? undefined : `Needs the permission ${permission}.`,
    [can, isLost],
  )
}
