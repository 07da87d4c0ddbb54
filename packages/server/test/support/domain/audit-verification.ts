import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { startCommand } from '../clients/cli-command.ts'
import { type Kit, runJob, startKit } from '../deployment/deployment.ts'

export const checkpointNow = async (kit: Kit): Promise<number> => {
  const { items } = await kit.admin.listAuditEvents({ query: { limit: 1 } })
  assert.ok(items.length > 0)
  await runJob(kit.app, 'checkpoint_audit')
  return (await kit.admin.listAuditCheckpoints({ query: { limit: 1 } })).items[0]!.size
}
export type Started = Awaited<ReturnType<typeof startVerifying>>
export async function startVerifying(t: TestContext) {
  const kit = await startKit(t)
  const command = await startCommand(t, kit)
  const verify = async (...args: string[]) => {
    const { code, out, err } = await command.run('audit', 'verify', '--json', ...args)
    return { code, err, said: out === '' ? undefined : JSON.parse(out) }
  }
  return { kit, verify, run: command.run, file: command.file }
}
export const exported = async (kit: Kit, query: object = {}): Promise<string> => {
  const chunks: Uint8Array[] = []
  const bytes = (await kit.admin.exportAudit({ query: { format: 'ndjson', ...query } })) as AsyncIterable<Uint8Array>
  for await (const chunk of bytes) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** SQL for the hash that fits at the sequence number `it`. */
export const anew = (
  it: number | 'it',
) => `sha256('\\x00'::bytea || coalesce((select p.hash from audit_log p where p.seq = ${it} - 1),
  decode(repeat('00', 32), 'hex')) || int8send(${it}) || convert_to(record, 'UTF8'))`
