import { generateKeyPairSync } from 'node:crypto'
import { compactDecrypt } from 'jose'
import { open, publish, rule, withGateway } from '../actors/gateways.ts'
import { type Kit, runJob, times } from '../deployment/deployment.ts'
import { until } from '../deployment/wait-until.ts'

/** Gateways of one pool that follow their policy and report at once what they enforce, until the test ends. */
export async function followingGateways(kit: Kit, count: number) {
  const first = await withGateway(kit, 'gw-0', 'pool')
  const others = await times(count - 1, async (i) => {
    const made = await kit.admin.createGateway({
      params: { pool_id: first.pool.pool_id },
      body: { name: `gw-${i + 1}`, public_key: Buffer.alloc(32, i + 1).toString('base64') },
    })
    return { gateway: made.gateway, secret: made.secret }
  })
  const ending = new AbortController()
  const applied = new Array<number>(count).fill(0)
  const gateways = [first, ...others].map((made, i) => {
    const gateway = open(kit, made)
    const { gateway_id } = made.gateway
    const pulling = gateway.runPulling({
      signal: ending.signal,
      onChange: () => {},
      onApplied: async (seq) => {
        await gateway.heartbeat({ active_sessions: 0 })
        applied[i] = seq
      },
    })
    return { gateway, pulling, gateway_id }
  })
  kit.after(async () => {
    ending.abort()
    await Promise.all(gateways.map((g) => g.pulling))
  })
  await until(() => applied.every((seq) => seq > 0) && kit.app.gateways.waiting() === count, 'all gateways follow')
  return gateways.map(({ gateway, gateway_id }) => ({ gateway, gateway_id }))
}

/**
 * Sets a run to the state in which a replica leaves it when it ends after the commit of the first step's change, but
 * before it reports that step.
 */
export async function leave(kit: Kit, tenant = kit.tenant): Promise<void> {
  await kit.db.inTenant(tenant, async (tx) => {
    await tx
      .updateTable('workflow_runs')
      .set({ status: 'running', evidence: null, evidence_digest: null, finished_at: null, claimed_until: new Date(0) })
      .where('tenant_id', '=', tenant)
      .execute()
    await tx
      .updateTable('workflow_steps')
      .set({ status: 'pending', result: '{}', undo: '[]', finished_at: null })
      .where('tenant_id', '=', tenant)
      .execute()
  })
}

/** A recipient for sealed secrets, with a function to open them. */
export function newRecipient() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const recipient = publicKey.export({ format: 'jwk' }) as { kty: string; crv: string; x: string; y: string }
  const open = async (jwe: unknown) => Buffer.from((await compactDecrypt(String(jwe), privateKey)).plaintext).toString()
  return { recipient, open }
}

/** Runs the job that continues unfinished runs, on the replicas in turn. */
export const drive = (kit: Kit, n: number) =>
  times(n, (i) => runJob(kit.replicas[i % kit.replicas.length]!.app, 'drive_workflows'))
export const ended = async (kit: Kit, workflow_run_id: string | null) => {
  const params = { workflow_run_id: workflow_run_id! }
  await until(async () => (await kit.admin.getWorkflowRun({ params })).status !== 'running', 'the run ends')
  return kit.admin.getWorkflowRun({ params })
}

/** A gateway that has only sent a heartbeat. */
export async function withSlowGateway(kit: Kit) {
  const gateway = open(kit, await withGateway(kit, 'g1', 'pool'))
  await publish(kit, [rule('all', { any: true }, ['pool'])])
  await gateway.heartbeat({ active_sessions: 0 })
  return gateway
}
/** Locks a device through the playbook, which waits for the gateways. */
export const lockDevice = (kit: Kit, device_id: string) =>
  kit.admin.runPlaybook({ body: { playbook: 'lost_device', params: { device_id, revoke: false } } })
