import type { Handlers } from '../../http/handlers.ts'
import { decodeId } from '../../kernel/ids.ts'
import { Representation } from '../../kernel/results.ts'
import type { DeviceCode } from './device-code.ts'
import { viewEnrolled } from './view.ts'

export const deviceCodeHandlers = ({ deviceCode }: { deviceCode: DeviceCode }) =>
  ({
    beginDeviceCode: async ({ actor, body: { provider_id, public_key } }) => {
      const providerId = decodeId('identity_provider', provider_id)
      const begun = await deviceCode.begin(actor, { providerId, ...(public_key && { public_key }) })
      return {
        user_code: begun.userCode,
        verification_uri: begun.verificationUri,
        verification_uri_complete: begun.verificationUriComplete,
        interval_seconds: begun.intervalSeconds,
        expires_at: begun.expiresAt.toISOString(),
      }
    },
    deviceCodeStatus: async ({ actor, hold }) => {
      const { status, intervalSeconds, expiresAt } = await deviceCode.status(actor, hold)
      const view = { status, interval_seconds: intervalSeconds, expires_at: expiresAt.toISOString() }
      return new Representation(status, view)
    },
    enrollByDeviceCode: async ({ actor, body: { challenge: _, ...input } }) =>
      viewEnrolled(actor.tenantId, await deviceCode.finish(actor, input)),
  }) satisfies Partial<Handlers>
