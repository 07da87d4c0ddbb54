import type { PolicyTest } from '@holdfast/contract/policy-document'
import { namesInTest } from '@holdfast/contract/policy-forms'
import { idOf } from './atoms.ts'
import type { CompiledPolicy } from './compile.ts'
import { type ConnectionContext, createSituation } from './conditions.ts'
import { judge } from './decide.ts'
import type { DeviceFacts } from './facts.ts'
import { aimAt } from './reach.ts'
import { concernOf } from './select.ts'
import { parseTarget } from './target.ts'

/** Directory data for tests. */
export type TestLookup = {
  /** Returns the group_ids of a user, by user_id. */
  readonly groupsOfUser: (userId: string) => readonly string[]
  /** Returns a device, by device_id. Without this function a test from a device has only its id. */
  readonly device?: (deviceId: string) => Pick<DeviceFacts, 'user_id' | 'group_ids' | 'tags' | 'platform'> | undefined
  /** Time of a test without `at`, in milliseconds since the epoch. */
  readonly now: number
}

type PolicyTestFailure = { target: string; expected: 'allow' | 'deny'; got: 'allow' | 'deny'; reason: string }
export type PolicyTestResult = { name: string; passed: boolean; failures: PolicyTestFailure[] }
export type PolicyTestReport = { passed: number; failed: number; results: PolicyTestResult[] }

/**
 * Runs the tests of a document against its compiled policy. Each test has one simulated device: of a user with the
 * user's directory groups, in the groups that the test names, and with its tags. Its posture report is new. `deny` is
 * met if the device can reach no part of the target.
 */
export function runPolicyTests(
  compiled: CompiledPolicy,
  tests: readonly PolicyTest[],
  lookup: TestLookup,
): PolicyTestReport {
  const results = tests.map((test) => runTest(compiled, test, lookup))
  const passed = results.filter((result) => result.passed).length
  return { passed, failed: results.length - passed, results }
}

function runTest(
  compiled: CompiledPolicy,
  { name, from, allow = [], deny = [] }: PolicyTest,
  lookup: TestLookup,
): PolicyTestResult {
  const context = contextOf(from, lookup.now)
  const facts = factsOf(compiled, from, context.at, lookup)
  const own = compiled.resolved.document.groups ?? {}
  const ownGroups = namesInTest(from, 'group').filter((name) => Object.hasOwn(own, name))
  const concern = concernOf(compiled, facts, ownGroups)
  const situation = createSituation(compiled, facts, context)
  const check = (text: string, expected: 'allow' | 'deny'): PolicyTestFailure[] => {
    const target = parseTarget(text)
    if (!target) throw new Error(`"${text}" is not a target`)
    const { decision, reason } = judge(situation, concern, aimAt(compiled, target))
    return decision === expected ? [] : [{ target: text, expected, got: decision, reason }]
  }
  const failures = [...allow.flatMap((text) => check(text, 'allow')), ...deny.flatMap((text) => check(text, 'deny'))]
  return { name, passed: failures.length === 0, failures }
}

function contextOf(from: PolicyTest['from'], now: number): ConnectionContext {
  const at = from.at === undefined ? now : Date.parse(from.at)
  return {
    at,
    ...(from.source_ip !== undefined && { source_ip: from.source_ip }),
    ...(from.country !== undefined && { country: from.country }),
    ...(from.mfa_age_seconds !== undefined && { mfa_at: at - from.mfa_age_seconds * 1_000 }),
  }
}

function factsOf({ resolved }: CompiledPolicy, from: PolicyTest['from'], at: number, lookup: TestLookup): DeviceFacts {
  const deviceId = from.device === undefined ? '' : idOf(resolved.devices, from.device)
  const known = from.device === undefined ? undefined : lookup.device?.(deviceId)
  const userId = from.user === undefined ? (known?.user_id ?? null) : idOf(resolved.users, from.user)
  const ownGroups = resolved.document.groups ?? {}
  const directoryGroups = namesInTest(from, 'group')
    .filter((name) => !Object.hasOwn(ownGroups, name))
    .map((name) => idOf(resolved.groups, name))
  const groups = from.user === undefined ? (known?.group_ids ?? []) : userId === null ? [] : lookup.groupsOfUser(userId)
  return {
    device_id: deviceId,
    user_id: userId,
    group_ids: [...groups, ...directoryGroups],
    tags: [...(known?.tags ?? []), ...namesInTest(from, 'tag')],
    platform: from.platform ?? known?.platform ?? 'other',
    posture: from.posture === undefined ? null : { facts: from.posture, reported_at: at },
  }
}
