import { pageItems, replacedSecretHours } from '@holdfast/contract/limits'
import { Closed, Id, OneOf } from '@holdfast/contract/schema'
import { sealTo } from '@holdfast/crypto'
import { Type } from 'typebox'
import { failField } from '../../kernel/app-error.ts'
import { callOf, definition, type WorkflowStep } from './definition.ts'
import { walk } from './steps.ts'

/** Most gateways of one run: each is a step. */
const mostGateways = 500
const Coordinate = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' })

/**
 * A new secret is shown only once, and the requester does not wait for it. So it is sealed to the requester's key and
 * stored.
 */
export const rotateGatewaySecrets = definition({
  kind: 'workflow',
  name: 'rotate_gateway_secrets',
  summary: `Give every gateway of a pool a new secret, encrypted to your key; the old secrets work for at most ${replacedSecretHours} hours`,
  params: Closed({
    pool_id: Id('gateway_pool'),
    recipient: Closed(
      { kty: OneOf(['EC']), crv: OneOf(['P-256']), x: Coordinate, y: Coordinate },
      { description: 'JWK of a public key. Each secret is encrypted to it as a JWE (ECDH-ES+A256KW, A256GCM)' },
    ),
  }),
  permissions: ['gateways:read', 'gateways:write'],
  secondApprover: 'never',
  steps: async ({ pool_id, recipient }, look) => {
    await sealTo(recipient, '').catch(() => failField('params.recipient', 'must be a public P-256 key'))
    const steps: WorkflowStep[] = []
    await walk(
      (cursor) =>
        look('listGateways', {
          params: { pool_id },
          query: { sort: 'name', limit: pageItems.most, ...(cursor !== undefined && { cursor }) },
        }),
      ({ gateway_id, name }) => {
        steps.push({
          call: { ...callOf('rotateGatewaySecret', { params: { gateway_id } }), recipient },
          summary: `Give the gateway ${name} a new secret`,
          affects: [{ type: 'gateway', id: gateway_id, name }],
          onError: 'stop',
        })
        return steps.length > mostGateways ? 'enough' : 'go on'
      },
    )
    if (steps.length > mostGateways)
      failField('params.pool_id', `has more than ${mostGateways} gateways, the maximum of one run`)
    return steps
  },
})
