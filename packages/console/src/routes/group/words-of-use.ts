import type { GroupUse } from '../groups/policy-uses.ts'

/** @example wordsOfUse({ kind: 'rule', id: 'git', part: 'from', through: undefined }) // 'Rule git' */
export function wordsOfUse(use: GroupUse): string {
  if (use.kind === 'group') return `Group ${use.id} of the policy`
  return use.part === 'except' ? `Rule ${use.id}, as an exception` : `Rule ${use.id}`
}
