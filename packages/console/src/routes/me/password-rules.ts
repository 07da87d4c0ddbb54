import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'

/** Returns the password rules in words. The minimum length is a setting that not every caller may read. */
export function usePasswordRules(): string {
  const can = useCan()
  const { data } = useApi('GET /v1/admin/settings/security', {}, { enabled: can('settings:read') })
  const length = data ? `At least ${data.passwords.min_length} characters, or 8 with a second factor. ` : ''
  return `${length}Use several unrelated words, without your name or the name of the service.`
}
