import { storable } from '../../../../kernel/text.ts'
import { FederationError } from '../proven-identity.ts'
import { childrenOf, elementText } from './elements.ts'
import { ns } from './names.ts'
import type { XmlElement } from './xml.ts'

const maxNames = 200
const maxNameLength = 256
const maxValueLength = 8192

/**
 * Returns the other statements of the assertion about the person: texts and lists of texts, by attribute name. Values
 * of another type are left out, as are the names of inherited JavaScript properties. Too many or too long values are
 * refused: a missing value may change a person's access.
 */
export function samlClaimsOf(assertion: XmlElement): Readonly<Record<string, string | readonly string[]>> {
  const found = new Map<string, string[]>()
  for (const statement of childrenOf(assertion, ns.assertion, 'AttributeStatement'))
    for (const attribute of childrenOf(statement, ns.assertion, 'Attribute')) {
      const name = attribute.attributes.get('Name') ?? ''
      if (name === '' || storable(name, maxNameLength) !== name || name in {}) continue
      const values = childrenOf(attribute, ns.assertion, 'AttributeValue').flatMap((value) => elementText(value) ?? [])
      if (values.some((value) => value.length > maxValueLength))
        throw new FederationError('token', `An attribute has a value of more than ${maxValueLength} characters.`)
      const plain = values.map((value) => storable(value, maxValueLength))
      found.set(name, [...(found.get(name) ?? []), ...plain])
      if (found.size > maxNames)
        throw new FederationError('token', `The assertion has more than ${maxNames} attributes.`)
    }
  const claims = new Map<string, string | readonly string[]>()
  for (const [name, values] of found) {
    const [first] = values
    if (first !== undefined) claims.set(name, values.length === 1 ? first : values)
  }
  return Object.fromEntries(claims)
}
