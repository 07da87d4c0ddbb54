import type { Notice } from '../../notifications/index.ts'

export const newestRootNotice = (tenantId: string, version: number, why: string): Notice => ({
  kind: 'update_root.due',
  severity: 'critical',
  title: `The update repository needs a new root after root ${version}`,
  detail: `${why[0]?.toUpperCase()}${why.slice(1)}. The key holders create and sign it: holdfast update root next, then sign, then publish.`,
  subject: { type: 'tenant', id: tenantId, name: null },
  dedupe_key: `update_root.due:${version}:${why}`,
})
