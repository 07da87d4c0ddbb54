import type { Handlers } from '../../../http/handlers.ts'
import { decodeId } from '../../../kernel/ids.ts'
import { plainTenant } from '../providers/sign-in-paths.ts'
import type { Logout } from './logout.ts'

export const logoutHandlers = ({ logout }: Pick<Logout, 'logout'>) =>
  ({
    backchannelLogout: async ({ params, query, body, request }) => {
      const providerId = decodeId('identity_provider', params.provider_id)
      const { tenant: tenantName = plainTenant } = query
      await logout({ tenantName, providerId, token: body.logout_token }, request.caller)
      return {}
    },
  }) satisfies Partial<Handlers>
