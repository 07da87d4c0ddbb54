import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { type DocumentError, positionOf } from './position.ts'

/** What only gateways can know, each by means that its operator gives it. */
export type GatewayKnowledge = ReadonlySet<'countries' | 'services'>

/** What a document leaves to gateways and they do not know: its rules would count for nobody, or deny for ever. */
export function unknownToGateways({ rules, resources = {} }: PolicyDocument, known: GatewayKnowledge): DocumentError[] {
  const ofCountries = rules.flatMap(({ when }, i) =>
    when?.countries && !known.has('countries')
      ? [
          {
            field: positionOf(['rules', i, 'when', 'countries']),
            message:
              'no gateway here knows the country of an address; name networks in "cidrs", or give every gateway a country file (MaxMind DB) and start the servers with HOLDFAST_GATEWAYS_KNOW=countries',
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
              'no gateway here knows a service by its name; give "cidrs" or "dns", or give every gateway the addresses of its services and start the servers with HOLDFAST_GATEWAYS_KNOW=services',
          },
        ]
      : [],
  )
  return [...ofCountries, ...ofServices]
}
