import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Nullable, OneOf, Time } from './schema.ts'
import { startSteps } from './start-vocabulary.ts'

const Step = OneOf(startSteps)

export const StartStep = Closed(
  {
    step: Step,
    done: Type.Boolean(),
    since: Nullable(Time),
    dismissed: Type.Boolean({ description: 'An administrator of the tenant has taken it off the list' }),
  },
  { title: 'StartStep' },
)
export type StartStep = Static<typeof StartStep>

export const getStart = endpoint({
  method: 'GET',
  path: '/v1/admin/start',
  summary: 'How far the tenant is set up, from what exists, some seconds old at most',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  etag: true,
  response: Closed(
    {
      steps: Type.Array(StartStep, {
        description:
          'In the order in which they are best done. sign_in: an identity provider is enabled, or the person who asks has a second factor. gateway: an enabled pool has a gateway that has reported. device_online: a device has had a VPN session. audit_forwarding: a SIEM connector is enabled. `since` is null where the caller may not read the thing that a step is about',
      }),
      complete: Type.Boolean({ description: 'Each step is done or dismissed' }),
    },
    { title: 'Start' },
  ),
})

export const dismissStartStep = endpoint({
  method: 'POST',
  path: '/v1/admin/start/dismiss',
  summary: 'Take a step off the list of the tenant, or put it back',
  access: { by: ['session', 'api_key'], permission: 'settings:write' },
  audit: 'start_step.dismissed',
  body: Closed({
    step: Step,
    dismissed: Type.Optional(Type.Boolean({ description: 'Default: true; false puts the step back' })),
  }),
  response: Closed({ step: StartStep, changed: Type.Boolean() }),
})
