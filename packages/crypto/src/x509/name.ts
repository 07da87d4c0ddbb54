import { refuse } from '../errors.ts'
import { type DerReader, readDer } from './der-read.ts'
import { element, objectIdentifier, sequence, tags, utf8String } from './der-write.ts'
import { type Oid, oids } from './oids.ts'

/** ub-organization-name and ub-common-name (RFC 5280 appendix A.1). */
const maxNameChars = 64

function relativeName(type: Oid, text: string): Buffer {
  if (text.length === 0 || text.length > maxNameChars)
    refuse('malformed', 'a name in a certificate must have 1 to 64 characters')
  return element(tags.set, sequence(objectIdentifier(type), utf8String(text)))
}
export const organizationName = (text: string): Buffer => relativeName(oids.organization, text)
export const commonName = (text: string): Buffer => relativeName(oids.commonName, text)

/**
 * Returns the DER of a Name: O, then CN, each in an RDN of its own. Most readers treat one RDN with two values as
 * another name.
 */
export const buildName = (organization: string, common: string): Buffer =>
  sequence(organizationName(organization), commonName(common))

/** Reads a name made by `buildName`. Throws `malformed` for any other name. */
export function readName(name: Buffer): { organization: string; commonName: string } {
  return readDer(name, (reader) => {
    const relative = reader.sequence()
    const both = {
      organization: readRelative(relative, oids.organization),
      commonName: readRelative(relative, oids.commonName),
    }
    relative.done()
    return both
  })
}

function readRelative(reader: DerReader, type: Oid): string {
  const set = reader.within(tags.set)
  const attribute = set.sequence()
  set.done()
  if (attribute.oid() !== type) refuse('malformed', 'the name does not consist of O and CN')
  const text = attribute.utf8()
  attribute.done()
  return text
}
