import type { Contract, Given, Output } from '@holdfast/contract'
import { csv, csvHeader } from '../formats/csv.ts'
import type { StoredEvent } from '../formats/event.ts'
import { json } from '../formats/json.ts'
import { octetCounted, type SyslogOrigin, syslog } from '../formats/syslog.ts'
import { printableJson } from '../formats/text.ts'
import type { BrokenPlace } from './broken-off.ts'

export type Signed = Output<Contract['getAuditExportManifest']>
/** Layout of an export file. */
export type Layout = {
  type: string
  extension: string
  head: string
  /** `isFirst`: only the head stands before this event. */
  event: (stored: StoredEvent, isFirst: boolean) => string
  /** Text between the last event and the manifest. The manifest's digest covers it. */
  end: string
  /** Last line of the file, if the file contains its manifest. */
  manifest?: (signed: Signed) => string
  /** Last line instead, if an event is not as it was recorded. */
  broken?: (place: BrokenPlace) => string
}

const lastLine = (before: string) => (signed: Signed) => `${before}${printableJson(JSON.stringify(signed)).slice(1)}\n`
export const layouts: Record<'csv' | 'json' | 'ndjson', Layout> = {
  csv: { type: 'text/csv; charset=utf-8; header=present', extension: 'csv', head: csvHeader, event: csv, end: '' },
  json: {
    type: 'application/json',
    extension: 'json',
    head: '{"events":[',
    event: (stored, isFirst) => `${isFirst ? '\n' : ',\n'}${json(stored)}`,
    end: '\n],\n',
    manifest: lastLine(''),
  },
  ndjson: {
    type: 'application/x-ndjson',
    extension: 'ndjson',
    head: '',
    event: (stored) => `${json(stored)}\n`,
    end: '',
    manifest: lastLine('{'),
    broken: ({ seq, message }) => `${JSON.stringify({ broken: message, seq })}\n`,
  },
}

type Framing = NonNullable<Given<Contract['exportAuditSyslog']>['query']['framing']>
export const syslogLayout = (origin: SyslogOrigin, framing: Framing): Layout => ({
  type: 'text/plain; charset=utf-8',
  extension: 'log',
  head: '',
  event: (stored) => {
    const message = syslog(stored, origin)
    return framing === 'newline' ? `${message}\n` : octetCounted(message)
  },
  end: '',
})
