import { type Actor, permissionsOf } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { differences } from '../../kernel/differences.ts'
import type { ProviderFields } from './providers.queries.ts'

type Mapped = Pick<ProviderFields, 'group_mappings' | 'claims'>

/** What decides who comes into groups: the mappings, and the claim that they read. */
const decides = ({ group_mappings, claims }: Mapped) =>
  group_mappings.length === 0 ? {} : { group_mappings, claim: claims.groups }

/** 403 for a change of who comes into groups, by a caller who may change no group. */
export function refuseGroupMappings(actor: Actor, before: Mapped, after: Mapped): void {
  if (permissionsOf(actor).has('groups:write')) return
  if (Object.keys(differences(decides(before), decides(after))).length > 0)
    fail('forbidden', 'group_mappings needs the permission groups:write')
}
