import { createOneAtATime } from './one-at-a-time.ts'
import type { Judge } from './policy-verifier.ts'
import { bodyOf, type Send } from './send.ts'
import { type DownloadOptions, downloadPackage } from './update-download.ts'
import { type OfferedUpdate, type UpdateCheck, type UpdateQuestion, verifyManifest } from './update-verifier.ts'

type Ask = { signal?: AbortSignal | undefined }

/** The part of a device that keeps its own program current. */
export const createDeviceUpdates = ({
  call,
  judge,
  withTrust,
}: {
  call: Send
  judge: () => Judge
  withTrust: <T>(check: () => T, ask: Ask) => Promise<T>
}) => {
  const oneAtATime = createOneAtATime<void>()
  return {
    /**
     * What is offered to this device that is newer than what it has, verified. The answer is checked against what is
     * asked; what is left out is what the device gave at enrollment or renewal, which the answer repeats. A device that
     * has just updated itself gives its version, or renews with it first.
     */
    checkForUpdate: async (asked: UpdateQuestion = {}, { signal }: Ask = {}): Promise<UpdateCheck> => {
      const { signature } = bodyOf(await call('updateManifest', { query: asked }, { signal }))
      return withTrust(() => verifyManifest(signature, asked, judge()), { signal })
    },
    /**
     * Downloads what was offered to a file and verifies it; goes on with what is there of an earlier attempt. Throws
     * `VerificationError` `wrong_digest` where it is not what was signed. One download at a time.
     */
    downloadUpdate: (update: OfferedUpdate, path: string, options?: DownloadOptions): Promise<void> =>
      oneAtATime(false, () => downloadPackage(call, update, path, options)),
  }
}
