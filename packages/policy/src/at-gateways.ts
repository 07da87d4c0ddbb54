import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { type DocumentError, positionOf } from './position.ts'

/** Facts that only gateways can look up, each by a means that its operator provides. */
export type GatewayKnowledge = ReadonlySet<'countries' | 'services'>

/**
 * Returns errors for conditions that need gateway facts which this deployment's gateways lack. Without them an allow
 * rule would never apply, and a deny rule always.
 */
export function unknownToGateways({ rules, resources = {} }: PolicyDocument, known: GatewayKnowledge): DocumentError[] {
  const ofCountries = rules.flatMap(({ when }, i) =>
    when?.countries && !known.has('countries')
      ? [
          {
            field: positionOf(['rules', i, 'when', 'countries']),
            message:
              'the gateways of this deployment do not know the country of an address; use "cidrs", or give each gateway a country file (MaxMind DB) and start the servers with HOLDFAST_GATEWAYS_KNOW=countries',
          },
        ]
      : [],
  )
  const ofServices = Object.entries(resources).flatMap(([name, { services }]) =>
    services && !known.has('services')
      ? [
          {
            field: positionOf(['resources', name, 'services']),
            message:
              'the gateways of this deployment do not know services by name; use "cidrs" or "dns", or give each gateway the addresses of its services and start the servers with HOLDFAST_GATEWAYS_KNOW=services',
          },
        ]
      : [],
  )
  return [...ofCountries, ...ofServices]
}
