import type { Actor } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Notice } from '../../notifications/index.ts'
import type { ReleaseRow } from './releases.queries.ts'

export function haltNotice({ release_id, version, reason }: ReleaseRow, { name }: Actor): Notice {
  const id = encodeId('release', release_id)
  return {
    kind: 'release.halted',
    severity: 'warning',
    title: `The release ${version} was halted`,
    detail: `${name ?? 'Somebody'} halted it: ${reason}. No device is offered it or can download it any more; devices that have installed it keep it until a newer release is published.`,
    subject: { type: 'release', id, name: version },
    dedupe_key: `release.halted:${release_id}`,
  }
}
