import { ConnectionError } from '@holdfast/sdk'

const writeKinds = ['enrollment', 'publish', 'revocation', 'API key use'] as const
type WriteKind = (typeof writeKinds)[number]
/** `marker` identifies the request. `proof` is the id from the acknowledgement; the object must exist afterwards. */
export type Entry = { kind: WriteKind; marker: string; proof: string | undefined }
type Tally = {
  kind: WriteKind
  acknowledged: number
  present: number
  lost: string[]
  unknown: number
  unknownPresent: number
}

/**
 * Requests sent while the server was being killed, and their acknowledgements. A request without an answer may or may
 * not have been carried out.
 */
export function createLedger() {
  const entries: Entry[] = []
  return {
    entries: entries as readonly Entry[],
    /** Runs a request and records its outcome. A refusal is thrown: none is expected here. */
    run: async (kind: WriteKind, marker: string, work: () => Promise<string>): Promise<string | undefined> => {
      const entry: Entry = { kind, marker, proof: undefined }
      entries.push(entry)
      try {
        entry.proof = await work()
        return entry.proof
      } catch (error) {
        if (error instanceof ConnectionError) return undefined
        throw error
      }
    },
    note: (entry: Entry) => void entries.push(entry),
    /** `isThere` looks for the object on the server: by its proof if there is one, else by its marker. */
    tally: (isThere: (entry: Entry) => boolean): Tally[] =>
      writeKinds.map((kind) => {
        const own = entries.filter((entry) => entry.kind === kind)
        const acknowledged = own.filter(({ proof }) => proof !== undefined)
        const unknown = own.filter(({ proof }) => proof === undefined)
        const lost = acknowledged.filter((entry) => !isThere(entry))
        return {
          kind,
          acknowledged: acknowledged.length,
          present: acknowledged.length - lost.length,
          lost: lost.map(({ marker, proof }) => `${marker} (${proof})`),
          unknown: unknown.length,
          unknownPresent: unknown.filter(isThere).length,
        }
      }),
  }
}
export type Ledger = ReturnType<typeof createLedger>

export function formatLedger(tallies: readonly Tally[]): string {
  const head = ['', 'acked', 'present', 'lost', 'unknown', 'of those present']
  const rows = tallies.map((t) =>
    [t.kind, t.acknowledged, t.present, t.lost.length, t.unknown, t.unknownPresent].map(String),
  )
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: string[]) =>
    `  ${cells.map((c, i) => (i === 0 ? c.padEnd(widths[i] ?? 0) : c.padStart(widths[i] ?? 0))).join('  ')}`
  return [head, ...rows].map(line).join('\n')
}
