import type { StoredEvent } from './event.ts'
import { printableJson } from './text.ts'

/**
 * The event as the API returns it, on one line: the record followed by `hash` and `seq`. Without these two members, RFC
 * 8785 gives the hashed text.
 */
export const json = ({ seq, hash, record }: StoredEvent): string =>
  printableJson(`${record.slice(0, -1)},"hash":"${hash}","seq":${seq}}`)
