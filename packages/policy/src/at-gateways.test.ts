import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { type GatewayKnowledge, unknownToGateways } from './at-gateways.ts'

const document: PolicyDocument = {
  schema: 'holdfast.policy/1',
  resources: { plain: { cidrs: ['10.0.0.1'] }, wiki: { services: ['wiki'] } },
  rules: [
    { id: 'a', action: 'allow', from: { any: true }, to: ['plain'], when: { cidrs: ['192.0.2.0/24'] } },
    { id: 'b', action: 'deny', from: { any: true }, to: ['wiki'], when: { countries: ['US'] } },
  ],
}
const fieldsOf = (...known: (GatewayKnowledge extends ReadonlySet<infer K> ? K : never)[]) =>
  unknownToGateways(document, new Set(known)).map(({ field }) => field)

test('a field that some gateway does not support is refused, and accepted once all do', () => {
  assert.deepEqual(fieldsOf(), ['rules[1].when.countries', 'resources.wiki.services'])
  assert.deepEqual(fieldsOf('countries'), ['resources.wiki.services'])
  assert.deepEqual(fieldsOf('services'), ['rules[1].when.countries'])
  assert.deepEqual(fieldsOf('countries', 'services'), [])
  for (const { message } of unknownToGateways(document, new Set())) assert.match(message, /HOLDFAST_GATEWAYS_KNOW=/)
})
