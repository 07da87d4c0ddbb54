import { bearer, sessionOn, type World } from '../support/actors/all-callers.ts'
import { type Population, populate } from '../support/actors/sample-objects.ts'
import type { Kit } from '../support/deployment/deployment.ts'

/** The callers of the writes, and the objects that they write to. */
export type Here = { own: Population; callers: Pick<World['callers'], 'session' | 'api_key' | 'device' | 'gateway'> }

/** Creates the part of a world that writes need; each write creates the objects that it changes. */
export async function createHere(kit: Kit): Promise<Here> {
  const own = await populate(kit, kit.admin, ['device_id', 'gateway_id'])
  const session = await sessionOn(kit)
  const callers = { session, api_key: bearer(kit.adminKey), device: own.device.caller, gateway: bearer(own.secret) }
  return { own, callers }
}
