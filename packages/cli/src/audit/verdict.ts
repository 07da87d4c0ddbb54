import { BadRecord, NoVerdict } from './bad-record.ts'
import type { Chain } from './chain.ts'
import type { Said } from './comparison.ts'
import type { Known, Trusted } from './keys.ts'
import { isFiltered, type Manifest } from './manifest.ts'

type Given = {
  trusted: Trusted | undefined
  manifest: Manifest | undefined
  /** Checkpoints given by the user. Each must be compared. */
  brought: readonly Known[]
  events: number
}

/**
 * Returns the verdict on a faultless export, with its evidence. Throws `NoVerdict`, and `BadRecord` if there is no
 * evidence.
 */
export function judged({ first, last }: Chain, said: Said, { trusted, manifest, brought, events }: Given) {
  const isPart = manifest !== undefined && isFiltered(manifest)
  for (const known of brought) if (!said.brought.has(known)) throw new NoVerdict(notCompared(known, isPart, first?.seq))
  const end = said.compared?.size ?? 0
  if (!manifest && end < (last?.seq ?? 0))
    throw new BadRecord(
      end + 1,
      'from here on nothing proves the events: no checkpoint covers them, and no key was given (--trust-set)',
    )
  return {
    newest: said.signed,
    verdict: {
      tenant_id: trusted?.tenantId ?? first?.tenantId ?? null,
      events,
      first_seq: first?.seq ?? null,
      last_seq: last?.seq ?? null,
      last_hash: last?.hash.toString('hex') ?? null,
      /** Events were left out by a filter. Only the manifest's signature confirms that. */
      is_filtered: isPart,
      /** Signed by a key of the trust set. */
      manifest_is_signed: manifest !== undefined,
      /** Size of the largest trusted checkpoint that was compared. */
      checkpoint: said.compared?.size ?? null,
      checkpoints: said.count,
      /** Not signed by a key of the trust set; the key may have expired. */
      checkpoints_of_other_keys: said.unsigned,
    },
  }
}

function notCompared({ size }: Known, isPart: boolean, first: number | undefined): string {
  const why = isPart
    ? 'a filter left out events'
    : first === undefined
      ? 'it has no event'
      : `it begins at sequence number ${first}`
  return `The given checkpoint of ${size} events cannot be compared with this export, because ${why}: verify an export of the whole audit log, or the audit log on the server (--server). The audit log was not verified.`
}
