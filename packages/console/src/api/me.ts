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
/** The tenant of the session, whichever is looked at. */
export const homeTenant = { id: boot.me.tenant_id, name: boot.me.tenant_name }

/** The page knows who is signed in from its beginning, in the home tenant. Of another tenant the name is read first. */
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

/** Who is signed in. A change of roles or of the second factor is read again. */
export const useMe = (): Me => useQuery<Me, ApiError>(meQuery()).data ?? boot.me

/** Why the tenant of the address can't be looked at; null where it can. */
export const useTenantError = (): ApiError | null => {
  const { error } = useQuery<Me, ApiError>(meQuery())
  return error && (error.status === 403 || error.status === 404 || error.status === 400) ? error : null
}

/**
 * Whether the caller has a permission, as a function of its name.
 *
 * @example const can = useCan(); can('devices:write')
 */
export function useCan(): (permission: Permission) => boolean {
  const { permissions } = useMe()
  return useCallback((permission) => permissions.includes(permission), [permissions])
}

/** The sentence beside what is off: the server is lost, or the caller lacks a permission. Undefined where it is on. */
export function useOffReason(): (permission: Permission) => string | undefined {
  const can = useCan()
  const isLost = useLostAt() !== undefined
  return useCallback(
    (permission) =>
      isLost ? 'The server does not answer.' : can(permission) ? undefined : `Needs the permission ${permission}.`,
    [can, isLost],
  )
}
