import { generateKey } from '@holdfast/crypto'
import type { Kit } from './kit.ts'
import { call, operation, type RawDevice, type Reached } from './world.ts'

/** A policy with one rule that wants the enforced check `disk`, and what else is asked. */
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

export const report = async (kit: Reached, device: Pick<RawDevice, 'caller'>, facts: object) => {
  const answer = await call(kit, operation('reportPosture'), device.caller, { facts })
  if (answer.status !== 200) throw new Error(`report refused: ${answer.status} ${answer.text}`)
  return answer.json
}

export const assertionOf = (kit: Reached, { caller }: Pick<RawDevice, 'caller'>, query = '') =>
  call(kit, operation('postureAssertion'), caller, undefined, query)

/** 16 bytes that nobody has shown before. */
export const newNonce = () => generateKey('Ed25519').kid.slice(0, 22).replace(/.$/, 'A')
