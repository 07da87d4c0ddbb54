import * as access from './access.ts'
import * as audit from './audit.ts'
import * as devices from './devices.ts'
import type { Endpoint } from './endpoint.ts'
import * as enrollment from './enrollment.ts'
import * as gatewayRuntime from './gateway-runtime.ts'
import * as gateways from './gateways.ts'
import * as health from './health.ts'
import * as identity from './identity.ts'
import * as notifications from './notifications.ts'
import * as policy from './policy.ts'
import * as settings from './settings.ts'
import * as trust from './trust.ts'
import * as vpnSessions from './vpn-sessions.ts'

type EndpointsOf<M> = { [K in keyof M as M[K] extends Endpoint ? K : never]: M[K] }
const endpointsOf = <M extends object>(module: M) =>
  Object.fromEntries(
    Object.entries(module).filter(([, v]) => typeof v === 'object' && v !== null && 'access' in v && 'path' in v),
  ) as EndpointsOf<M>

/** Every endpoint of the product, by operation name. */
export const contract = {
  ...endpointsOf(health),
  ...endpointsOf(access),
  ...endpointsOf(identity),
  ...endpointsOf(enrollment),
  ...endpointsOf(devices),
  ...endpointsOf(policy),
  ...endpointsOf(gateways),
  ...endpointsOf(gatewayRuntime),
  ...endpointsOf(vpnSessions),
  ...endpointsOf(settings),
  ...endpointsOf(trust),
  ...endpointsOf(audit),
  ...endpointsOf(notifications),
}
export type Contract = typeof contract
export type Operation = keyof Contract
export const operations = Object.entries(contract) as [Operation, Endpoint][]
export type { Endpoint, Given, Input, Output } from './endpoint.ts'
