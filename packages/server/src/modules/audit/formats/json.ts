import type { Stored } from './event.ts'
import { printableJson } from './text.ts'

/**
 * The event as the API gives it, one line: its record with `hash` and `seq` behind it. Whoever takes these two members
 * off and writes the rest by RFC 8785 has the record that was hashed.
 */
export const json = ({ seq, hash, record }: Stored): string =>
  printableJson(`${record.slice(0, -1)},"hash":"${hash}","seq":${seq}}`)
