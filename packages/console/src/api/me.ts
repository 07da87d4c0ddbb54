import type { Permission } from '@holdfast/contract/vocabulary'
import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { type Me, readBoot } from './boot.ts'
import { call } from './client.ts'

const boot = readBoot()
export const serverVersion = boot.version

/** Who is signed in. The page brings the first answer with it; a change of roles or of the second factor is read again. */
export const useMe = (): Me =>
  useQuery({
    queryKey: ['GET /v1/admin/me'],
    queryFn: ({ signal }) => call('GET /v1/admin/me', {}, { signal }),
    initialData: boot.me,
    staleTime: 60_000,
  }).data

/**
 * Whether the caller has a permission, as a function of its name.
 *
 * @example const can = useCan(); can('devices:write')
 */
export function useCan(): (permission: Permission) => boolean {
  const { permissions } = useMe()
  return useCallback((permission) => permissions.includes(permission), [permissions])
}

/** The sentence beside what is off for want of a permission; undefined where the caller has it. */
export function useOffReason(): (permission: Permission) => string | undefined {
  const can = useCan()
  return useCallback((permission) => (can(permission) ? undefined : `Needs the permission ${permission}.`), [can])
}
