import { createOneAtATime } from '../one-at-a-time.ts'
import { bodyOf, type Send } from '../send.ts'
import type { Judge } from '../verify/policy-verifier.ts'
import { type DownloadOptions, downloadPackage } from '../verify/update-download.ts'
import { type OfferedUpdate, type UpdateCheck, type UpdateQuestion, verifyManifest } from '../verify/update-verifier.ts'

type Ask = { signal?: AbortSignal | undefined }

/** Software updates of a device. */
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
     * Returns the verified packages for this device that are newer than its version. The response is checked against
     * the request; for omitted values the server uses, and repeats, those of the enrollment or last renewal. A device
     * that has just updated itself must pass its version, or renew with it first.
     */
    checkForUpdate: async (asked: UpdateQuestion = {}, { signal }: Ask = {}): Promise<UpdateCheck> => {
      const { signature } = bodyOf(await call('updateManifest', { query: asked }, { signal }))
      return withTrust(() => verifyManifest(signature, asked, judge()), { signal })
    },
    /**
     * Downloads a package to a file and verifies it; resumes an earlier attempt. Throws `VerificationError`
     * `wrong_digest` if it is not the signed content. One download at a time.
     */
    downloadUpdate: (update: OfferedUpdate, path: string, options?: DownloadOptions): Promise<void> =>
      oneAtATime(false, () => downloadPackage(call, update, path, options)),
  }
}
