import { evaluateChecks } from '@holdfast/policy'
import type { Appraise } from '../devices/index.ts'
import type { PolicyStore } from './store.ts'
import { deviceFactsOf } from './tenant-policy.ts'

/** Returns the checks of the policy that a device is under now, as a function that evaluates any report of it. */
export const createAppraisal =
  (store: Pick<PolicyStore, 'at'>): Appraise =>
  async (tenant, device) => {
    const policy = await store.at(tenant)
    const channel = policy.channelOf(device)
    const { version, compiled } = policy.versionOn(channel)
    const facts = deviceFactsOf(device)
    return {
      newest: policy.newest,
      channel,
      version,
      digestAt: (nowMs) => policy.variantOf(device, nowMs).digest,
      appraise: (report, nowMs) => evaluateChecks(compiled, { ...facts, posture: report }, nowMs),
      outcomes: (report, nowMs) => {
        const found = policy.inForce.map((each) => evaluateChecks(each, { ...facts, posture: report }, nowMs))
        return {
          text: found.map(({ checks }) => checks.map(({ outcome }) => outcome).join()).join(';'),
          until: Math.min(...found.map(({ valid_until }) => valid_until ?? Number.POSITIVE_INFINITY)),
        }
      },
    }
  }
