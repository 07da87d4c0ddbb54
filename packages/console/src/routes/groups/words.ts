import type { OutputOf } from '../../api/client.ts'

export type Group = OutputOf<'GET /v1/admin/groups'>['items'][number]
