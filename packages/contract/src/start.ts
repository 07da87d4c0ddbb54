import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Nullable, OneOf, Time, WasChanged } from './schema.ts'
import { startSteps } from './start-vocabulary.ts'

const Step = OneOf(startSteps)

export const StartStep = Closed(
  {
    step: Step,
    done: Type.Boolean(),
    since: Nullable(Time),
    dismissed: Type.Boolean({ description: 'True: an administrator of the tenant has dismissed the step' }),
  },
  { title: 'StartStep' },
)
export type StartStep = Static<typeof StartStep>

export const getStart = endpoint({
  method: 'GET',
  path: '/v1/admin/start',
  summary: 'Get the set-up steps of the tenant',
  description: 'The steps follow from the existing objects. The answer may be some seconds old.',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  etag: true,
  response: Closed(
    {
      steps: Type.Array(StartStep, {
        description:
          'Steps in the recommended order. `sign_in`: an identity provider is enabled, or the caller has a second factor. `gateway`: an enabled pool has a gateway that has reported. `device_online`: a device has had a VPN session. `audit_forwarding`: a SIEM connector is enabled. `since` is null if the caller may not read the object of the step',
      }),
      complete: Type.Boolean({ description: 'True: each step is done or dismissed' }),
    },
    { title: 'Start' },
  ),
})

export const dismissStartStep = endpoint({
  method: 'POST',
  path: '/v1/admin/start/dismiss',
  summary: 'Dismiss a set-up step, or put it back',
  access: { by: ['session', 'api_key'], permission: 'settings:write' },
  audit: 'start_step.dismissed',
  body: Closed({
    step: Step,
    dismissed: Type.Optional(
      Type.Boolean({ description: 'True (default): dismisses the step. False: puts the step back' }),
    ),
  }),
  response: Closed({ step: StartStep, changed: WasChanged }),
})
