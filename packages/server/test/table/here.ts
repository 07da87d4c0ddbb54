import { signIn } from '@holdfast/sdk'
import { adminPassword, type Kit } from '../kit.ts'
import { type Population, populate } from '../population.ts'
import { bearer, type Caller, type World } from '../world.ts'

/** Who writes, and on what. */
export type Here = { own: Population; callers: Pick<World['callers'], 'session' | 'api_key' | 'device' | 'gateway'> }

/** Of a world, what writes need: each makes what it changes by itself. */
export async function createHere(kit: Kit): Promise<Here> {
  const own = await populate(kit, kit.admin, ['device_id', 'gateway_id'])
  const { cookie } = await signIn({
    baseUrl: kit.publicUrl,
    username: 'admin',
    password: adminPassword,
    dispatcher: kit.dispatcher,
  })
  const session: Caller = () => ({ cookie, origin: kit.publicUrl })
  const callers = { session, api_key: bearer(kit.adminKey), device: own.device.caller, gateway: bearer(own.secret) }
  return { own, callers }
}
