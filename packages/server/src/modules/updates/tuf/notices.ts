import type { Notice } from '../../notifications/index.ts'

export const newestRootNotice = (tenantId: string, version: number, why: string): Notice => ({
  kind: 'update_root.due',
  severity: 'critical',
  title: `A next root of the update repository is due after root ${version}`,
  detail: `${why[0]?.toUpperCase()}${why.slice(1)}. Its keepers make and sign the next one: holdfast update root next, then sign, then publish.`,
  subject: { type: 'tenant', id: tenantId, name: null },
  dedupe_key: `update_root.due:${version}:${why}`,
})
