export { type GatewayKnowledge, unknownToGateways } from './at-gateways.ts'
export { type CompiledPolicy, compilePolicy } from './compile.ts'
export type { ConnectionContext } from './conditions.ts'
export { createReachTest, type Decision, decide, type ExplainedRule, type ReachTest } from './decide.ts'
export { diffPolicies, type PolicyDiff } from './diff.ts'
export { type Checked, checkDocument, MAX_DOCUMENT_ERRORS } from './document.ts'
export { readDocumentText } from './draft-text.ts'
export type { DeviceFacts } from './facts.ts'
export { type Box, type Flattening, flatten } from './flatten.ts'
export { createImpact, type DeviceImpact, type Impact } from './impact.ts'
export { type MergeConflict, mergePolicies } from './merge.ts'
export { endOn, poolsOf } from './pools.ts'
export type { DocumentError } from './position.ts'
export {
  type CheckResult,
  evaluateChecks,
  evaluateVerdict,
  type PostureResult,
  type PostureVerdict,
} from './posture.ts'
export { type Lookup, type References, type ResolvedPolicy, referencesOf, resolveDocument } from './references.ts'
export { type Selection, selectVariant } from './select.ts'
export { isHostName } from './shapes.ts'
export { parseTarget, type Target } from './target.ts'
export { type PolicyTestReport, type PolicyTestResult, runPolicyTests, type TestLookup } from './tests.ts'
export { type Variant, type VariantContent, variantContent } from './variant.ts'
