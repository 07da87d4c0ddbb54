import type { Handlers } from '../../http/handlers.ts'
import { AppError } from '../../kernel/app-error.ts'
import { decodeId } from '../../kernel/ids.ts'
import type { Logout } from './logout.ts'
import { plainTenant } from './ways.ts'

export const logoutHandlers = ({ logout }: Pick<Logout, 'logout'>) =>
  ({
    backchannelLogout: async ({ params, query, body, request }) => {
      const providerId = decodeId('identity_provider', params.provider_id)
      const { tenant: tenantName = plainTenant } = query
      await logout({ tenantName, providerId, token: body.logout_token }, request.caller).catch((e: unknown) => {
        if (e instanceof AppError && e.code === 'unauthorized')
          throw new AppError('unauthorized', 'the logout token is not accepted')
        throw e
      })
      return {}
    },
  }) satisfies Partial<Handlers>
