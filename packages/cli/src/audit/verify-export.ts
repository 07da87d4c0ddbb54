import { createHash } from 'node:crypto'
import { BadRecord } from './bad-record.ts'
import { createChain, type Start } from './chain.ts'
import { createComparison, type Witness } from './comparison.ts'
import type { Known, Trusted } from './keys.ts'
import { type Place, readLine } from './line.ts'
import { isFiltered, type Manifest, openManifest, requireContent } from './manifest.ts'

type Options = {
  /** Whose signatures count; without it only checkpoints vouch for the record. */
  trusted: Trusted | undefined
  /** The same as of now, where somebody can be asked: the key of a manifest may be younger than its export. */
  trustedNow?: () => Promise<Trusted>
  witness: Witness
  /** What stands before a record that begins later than at place 1, where somebody can be asked. */
  startOf?: (first: Place) => Promise<Start>
  progress?: (events: number) => void
}

/**
 * An export of events, one on each line in the order of their places, and its manifest on the last. Throws `BadRecord`
 * for the first place that is not what was recorded, as far as can be told.
 */
export async function verifyExport(
  lines: AsyncIterable<Buffer>,
  { trusted, trustedNow, witness, startOf, progress }: Options,
) {
  const comparison = await createComparison(witness)
  const digest = createHash('sha256')
  let chain: ReturnType<typeof createChain> | undefined
  let manifest: Manifest | undefined
  let isOver = false
  let [events, bytes] = [0, 0]
  /** A place that is not there, unless the manifest says that it was left out; and what is wrong behind it. */
  let gap: BadRecord | undefined
  let fault: BadRecord | undefined

  async function take(place: Place): Promise<void> {
    const tenantId = trusted?.tenantId ?? chain?.first?.tenantId ?? place.tenantId
    if (place.tenantId !== tenantId) throw new BadRecord(place.seq, `it is of another tenant: ${place.tenantId}`)
    chain ??= createChain(place.seq > 1 ? await startOf?.(place) : undefined)
    const finding = chain.take(place)
    if (finding?.is === 'gap') gap ??= finding.bad
    await comparison.take(place.seq, finding, chain.root)
  }
  async function read(line: Buffer): Promise<void> {
    const expected = (chain?.last?.seq ?? 0) + 1
    if (isOver) throw new BadRecord(expected, 'something stands behind the manifest')
    const what = readLine(line, expected)
    if ('manifest' in what) {
      isOver = true
      if (trusted) manifest = openManifest(what, (await trustedNow?.()) ?? trusted, chain?.first?.seq ?? 1)
      return
    }
    digest.update(line)
    bytes += line.length
    events++
    progress?.(events)
    if (!fault) await take(what.place)
  }

  for await (const line of lines)
    try {
      await read(line)
    } catch (e) {
      // Behind a gap it reads on, to hear whether that was left out.
      if (!(e instanceof BadRecord) || !gap || fault) throw e instanceof BadRecord ? (gap ?? e) : e
      fault = e
    }
  const isWhole = manifest === undefined || !isFiltered(manifest)
  if (gap && isWhole) throw gap
  if (fault) throw fault
  chain ??= createChain()
  const { first, last } = chain
  const { compared, count, unsigned } = await comparison.end(last?.seq ?? 0, isWhole)
  if (manifest) requireContent(manifest, chain, { events, bytes, sha256: digest.digest('hex') })
  if (!manifest && !compared)
    throw new BadRecord((last?.seq ?? 0) + 1, 'it ends here, without a manifest that is signed: a part of an export?')
  return {
    compared,
    verdict: {
      tenant_id: trusted?.tenantId ?? first?.tenantId ?? null,
      events,
      first_seq: first?.seq ?? null,
      last_seq: last?.seq ?? null,
      last_hash: last?.hash.toString('hex') ?? null,
      /** Places were left out, for which the signature of the manifest vouches alone. */
      is_filtered: !isWhole,
      /** By a key of the trust set. */
      manifest_is_signed: manifest !== undefined,
      ...checkpointsOf(compared, count, unsigned),
    },
  }
}

const checkpointsOf = (compared: Known | undefined, count: number, unsigned: number) => ({
  /** Of how many events the last checkpoint is that the record was compared with. */
  checkpoint: compared?.size ?? null,
  checkpoints: count,
  /** By no key of the trust set: it may have ended since. */
  checkpoints_of_other_keys: unsigned,
})
