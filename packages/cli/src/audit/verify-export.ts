import { createHash } from 'node:crypto'
import { BadRecord, firstOf } from './bad-record.ts'
import { type Chain, createChain, type Start } from './chain.ts'
import { createComparison, type Witness } from './comparison.ts'
import { type Known, readCheckpoint, type Trusted } from './keys.ts'
import { type Place, readLine } from './line.ts'
import { TooLong } from './lines.ts'
import { isFiltered, type Manifest, openManifest, requireContent, requireMeant } from './manifest.ts'
import { judged } from './verdict.ts'

type Options = {
  /** Keys whose signatures are trusted. Without them only the given checkpoints confirm the log, up to the last one. */
  trusted: Trusted | undefined
  /** Returns the present keys, if there is a server. The key of a manifest may be newer than its export. */
  trustedNow?: () => Promise<Trusted>
  witness: Witness
  /** Time of the request, if the whole log was requested. */
  asked?: Date
  /** Returns the proven start of a log that begins after sequence number 1, if there is a server. */
  startOf?: (first: Place) => Promise<Start & { proof: Known }>
  progress?: (events: number) => void
}

/**
 * Verifies an export: one event per line in order of sequence numbers, and the manifest on the last line. Throws
 * `BadRecord` with the first position that differs from the recorded log, and `NoVerdict`.
 */
export async function verifyExport(
  lines: AsyncIterable<Buffer>,
  { trusted, trustedNow, witness, asked, startOf, progress }: Options,
) {
  const comparison = await createComparison(witness)
  const digest = createHash('sha256')
  let chain: Chain | undefined
  let manifest: Manifest | undefined
  let carried: Known | undefined
  let isOver = false
  let [events, bytes] = [0, 0]
  /** A missing event, unless the manifest says that it was left out; and the first fault after it. */
  let gap: BadRecord | undefined
  let fault: BadRecord | undefined

  async function take(place: Place): Promise<void> {
    const tenantId = trusted?.tenantId ?? chain?.first?.tenantId ?? place.tenantId
    if (place.tenantId !== tenantId) throw new BadRecord(place.seq, `it belongs to another tenant: ${place.tenantId}`)
    if (!chain) {
      const start = place.seq > 1 ? await startOf?.(place) : undefined
      if (start) await comparison.begin(place.seq, start.proof)
      chain = createChain(start)
    }
    const finding = chain.take(place)
    if (finding?.is === 'gap') gap ??= finding.bad
    await comparison.take(place.seq, finding, chain)
  }
  const expected = () => (chain?.last?.seq ?? 0) + 1
  async function read(line: Buffer): Promise<void> {
    if (isOver) throw new BadRecord(expected(), 'a line follows the manifest')
    const what = readLine(line, expected())
    if ('manifest' in what) {
      isOver = true
      if (!trusted) return
      const keys = (await trustedNow?.()) ?? trusted
      manifest = openManifest(what, keys, chain?.first?.seq ?? 1)
      if (typeof manifest.checkpoint === 'string') carried = readCheckpoint(manifest.checkpoint, keys)
      return
    }
    digest.update(line)
    bytes += line.length
    events++
    progress?.(events)
    if (!fault) await take(what.place)
  }

  try {
    for await (const line of lines)
      try {
        await read(line)
      } catch (e) {
        if (!(e instanceof BadRecord)) throw e
        // After a gap it reads on, since the manifest may say that the events were left out.
        const isEnough = !gap || fault
        fault ??= e
        if (isEnough) break
      }
  } catch (e) {
    if (!(e instanceof TooLong)) throw e
    fault ??= new BadRecord(expected(), e.message)
  }
  chain ??= createChain()
  const isWhole = asked !== undefined || !manifest || !isFiltered(manifest)
  const bads = [fault, isWhole ? gap : undefined].filter((bad) => bad !== undefined)
  const note = async (check: () => unknown): Promise<void> => {
    try {
      await check()
    } catch (e) {
      if (!(e instanceof BadRecord)) throw e
      bads.push(e)
    }
  }
  await note(() => comparison.end(chain!, isWhole && !fault, carried))
  if (!fault && trusted) await note(() => requireMeant(manifest, chain!, asked))
  const first = firstOf(bads)
  if (first) throw first
  if (manifest) requireContent(manifest, chain, { events, bytes, sha256: digest.digest('hex') })
  const brought = witness.reached.filter(({ isBrought }) => isBrought)
  return judged(chain, comparison.said(), { trusted, manifest, brought, events })
}
