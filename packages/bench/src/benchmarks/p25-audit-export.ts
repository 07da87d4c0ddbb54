import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { receiveAuditExport } from '@holdfast/sdk'
import { seedAuditLog } from './rig/audit-log.ts'
import { type Benchmark, megabytes, perSecond, type Row, verdictOf } from './rig/result.ts'
import { openAdmin } from './rig/server.ts'

const work = 'audit export'
const most = 50 * 1024 * 1024
const lookEveryMs = 50

/** P25: exports the whole audit log in each format, as fast as possible, and watches the server's memory. */
export const auditExport: Benchmark = {
  id: 'P25',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const count = scale.size(1_000_000)
    const server = await bench.startServer()
    const { admin } = await openAdmin(server)
    say(`a record of ${count} events`)
    await server.withDatabase(async (db) => {
      const { rows } = await db.query<{ tenant_id: string }>(
        `select tenant_id from audit_heads order by seq desc limit 1`,
      )
      await seedAuditLog(db, rows[0]!.tenant_id, count)
    })
    const rows: Row[] = []
    for (const format of ['ndjson', 'csv', 'json', 'syslog'] as const) {
      say(format)
      // An empty export first, so that the first use of the code is not measured.
      await receiveAuditExport(admin, { format, kind: 'account.locked' }, async () => {})
      const before = server.residentBytes()
      let peak = before
      const looking = setInterval(() => {
        peak = Math.max(peak, server.residentBytes())
      }, lookEveryMs)
      const hash = createHash('sha256')
      const started = performance.now()
      const { manifest } = await receiveAuditExport(admin, { format }, async (piece) => void hash.update(piece))
      const { events, bytes, sha256 } = manifest
      const seconds = (performance.now() - started) / 1000
      clearInterval(looking)
      if (events < count) throw new Error(`${events} events of ${count}`)
      if ((format === 'csv' || format === 'syslog') && hash.digest('hex') !== sha256) throw new Error('other bytes')
      rows.push({
        id: 'P25',
        work: `${work}, ${format}, ${count.toLocaleString('en')} events: growth of the server's memory`,
        figure: `${megabytes(peak - before)} at most`,
        baseline: `${megabytes(before)} before`,
        ratio: null,
        target: '≤ 50 MB',
        verdict: verdictOf(peak - before <= most),
        note: `RSS of the process, looked at every ${lookEveryMs} ms; ${megabytes(bytes)} in ${seconds.toFixed(1)} s, ${perSecond(events / seconds)}; PostgreSQL not counted`,
        rounds: { before: [before], peak: [peak], seconds: [seconds] },
      })
      await delay(1000)
    }
    return rows
  },
}
