import { createProof } from '@holdfast/crypto/dpop'
import { ApiError, createSender, type DeviceState } from '@holdfast/sdk'
import { Agent, buildConnector } from 'undici'

export type Asked = { status: number; digest: string | null }

/** Sends requests directly to the replica on this port, not to its public URL. */
export function askStraight(port: number) {
  const connect = buildConnector({ timeout: 2_000 })
  const dispatcher = new Agent({
    pipelining: 1,
    connect: (options, callback) => connect({ ...options, hostname: '127.0.0.1', port: String(port) }, callback),
  })
  return {
    /**
     * The status of one answer to the device, and the digest with 200. 0: no answer, or one that tells nothing about
     * the device.
     */
    ask: async ({ baseUrl, privateJwk, credential }: DeviceState): Promise<Asked> => {
      const prove = (method: string, url: string, accessToken: string) =>
        createProof(privateJwk!, { method, url, accessToken, now: new Date() })
      try {
        const send = createSender({ baseUrl, credential, prove, dispatcher })
        const { body } = await send('policyDigest', {}, { signal: AbortSignal.timeout(4_000) })
        return { status: 200, digest: body?.digest ?? null }
      } catch (e) {
        return { status: e instanceof ApiError && e.status === 401 ? 401 : 0, digest: null }
      }
    },
    close: () => dispatcher.destroy(),
  }
}
