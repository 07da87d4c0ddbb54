import { type PostureAssertion, pinTrust, verifyPostureAssertion } from '@holdfast/sdk'
import { encodeId } from '../../../src/kernel/ids.ts'
import { call, operation, type RawDevice, type Reached } from '../actors/all-callers.ts'
import { type enroll, payloadOf } from '../actors/gateways.ts'
import type { Kit, Replica } from '../deployment/deployment.ts'

/** A policy with one rule that requires the enforced check `disk`, or the checks given. */
export const checking = (checks: Record<string, object>, posture: string[] = ['disk']) => ({
  schema: 'holdfast.policy/1',
  resources: { wiki: { cidrs: ['10.1.0.0/16'] } },
  rules: [
    { id: 'wiki', action: 'allow', from: { any: true }, to: ['wiki'], when: { posture } },
    { id: 'plain', action: 'allow', from: { any: true }, to: ['10.2.0.0/16'] },
  ],
  posture_checks: checks,
})
export const disk = { expression: 'disk.encrypted == true', remediation: 'Turn on disk encryption.' }

export const publishChecks = (kit: Pick<Kit, 'admin'>, checks: Record<string, object> = { disk }) =>
  kit.admin.publishPolicy({
    body: { channel: 'stable', policy: checking(checks, Object.keys(checks)), supersede: true },
  })

export const score = (least: number) => ({ expression: `edr.score >= ${least}` })

/** The rules that each replica gives to a device. */
export const rulesAt = (
  device: Awaited<ReturnType<typeof enroll>>,
  replicas: readonly Replica[],
): Promise<string[][]> =>
  Promise.all(
    replicas.map(async (replica) =>
      payloadOf((await device.at(replica).policyBundle()).bundle).content.rules.map((rule: { id: string }) => rule.id),
    ),
  )

export const report = async (kit: Reached, device: Pick<RawDevice, 'caller'>, facts: object) => {
  const answer = await call(kit, operation('reportPosture'), device.caller, { facts })
  if (answer.status !== 200) throw new Error(`report refused: ${answer.status} ${answer.text}`)
  return answer.json
}

export const assertionOf = (kit: Reached, { caller }: Pick<RawDevice, 'caller'>, query = '') =>
  call(kit, operation('postureAssertion'), caller, undefined, query)

export const reasonsOf = (reasons: readonly { code: string; check_id: string | null }[]) =>
  reasons.map(({ code, check_id }) => (check_id ? `${code} ${check_id}` : code))

/** Verifies an assertion as a relying party that trusts the tenant's keys. */
export async function relied(
  kit: Kit,
  assertion: string,
  nonce: string | null,
  now = new Date(),
): Promise<PostureAssertion> {
  const trust = pinTrust(await kit.admin.trustAnchors(), { tenantId: encodeId('tenant', kit.tenant), now })
  return verifyPostureAssertion(assertion, trust, { issuer: kit.publicUrl, nonce, now })
}
