import { BadRecord, NoVerdict } from './bad-record.ts'
import type { Chain } from './chain.ts'
import type { Said } from './comparison.ts'
import type { Known, Trusted } from './keys.ts'
import { isFiltered, type Manifest } from './manifest.ts'

type Given = {
  trusted: Trusted | undefined
  manifest: Manifest | undefined
  /** What was brought along, each of which was to be compared. */
  brought: readonly Known[]
  events: number
}

/** Of an export in which nothing is wrong: what vouches for it. Throws `NoVerdict`, and `BadRecord` where nothing does. */
export function judged({ first, last }: Chain, said: Said, { trusted, manifest, brought, events }: Given) {
  const isPart = manifest !== undefined && isFiltered(manifest)
  for (const known of brought) if (!said.brought.has(known)) throw new NoVerdict(notCompared(known, isPart, first?.seq))
  const end = said.compared?.size ?? 0
  if (!manifest && end < (last?.seq ?? 0))
    throw new BadRecord(end + 1, 'from here on nobody vouches for it: no checkpoint reaches it, and no key is known')
  return {
    newest: said.signed,
    verdict: {
      tenant_id: trusted?.tenantId ?? first?.tenantId ?? null,
      events,
      first_seq: first?.seq ?? null,
      last_seq: last?.seq ?? null,
      last_hash: last?.hash.toString('hex') ?? null,
      /** Places were left out, for which the signature of the manifest vouches alone. */
      is_filtered: isPart,
      /** By a key of the trust set. */
      manifest_is_signed: manifest !== undefined,
      /** Of how many events the last checkpoint is that the record was compared with, and that counts. */
      checkpoint: said.compared?.size ?? null,
      checkpoints: said.count,
      /** By no key of the trust set: it may have ended since. */
      checkpoints_of_other_keys: said.unsigned,
    },
  }
}

function notCompared({ size }: Known, isPart: boolean, first: number | undefined): string {
  const why = isPart
    ? 'places were left out by a filter'
    : first === undefined
      ? 'it holds no event'
      : `it begins at place ${first}`
  return `The checkpoint of ${size} places that was brought can't be compared with this export, since ${why}: verify an export of the whole record, or the record of the server (--server). This is no verdict.`
}
