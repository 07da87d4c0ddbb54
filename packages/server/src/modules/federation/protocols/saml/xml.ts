import { FederationError } from '../proven-identity.ts'

/** An element. Attributes without a namespace are under their name, others under `{namespace}name`. */
export type XmlElement = {
  readonly namespace: string
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly XmlElement[]
  /** Prefix of the name as written. It matters only for signed bytes. */
  readonly prefix: string
  /** Texts and children in document order, without comments. */
  readonly content: readonly (string | XmlElement)[]
}
type Open = {
  element: XmlElement & { children: XmlElement[]; content: (string | XmlElement)[] }
  tag: string
  scope: Scope
}
type Scope = { prefixes: ReadonlyMap<string, string>; outer: Scope | undefined }

const maxDepth = 64
/** Limit of elements and comments: the cost of verifying a signature grows with them. */
const maxNodes = 4000
const maxAttributes = 64
const outermost: Scope = {
  prefixes: new Map([
    ['', ''],
    ['xml', 'http://www.w3.org/XML/1998/namespace'],
  ]),
  outer: undefined,
}
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const declaration = /^<\?xml[ \t\r\n]+version=(?:"1\.0"|'1\.0')(?:[ \t\r\n]+\w+=(?:"[\w.-]*"|'[\w.-]*'))*[ \t\r\n]*\?>/
const startOfTag = /<([A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?)/y
const attribute = /[ \t\r\n]+([A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?)[ \t\r\n]*=[ \t\r\n]*(?:"([^"<]*)"|'([^'<]*)')/y
const endOfTag = /[ \t\r\n]*(\/?)>/y
const closingTag = /<\/([\w.:-]+)[ \t\r\n]*>/y
const reference = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9A-Fa-f]{1,6}));|&/g
// Characters that no XML document may contain, as such or as a character reference.
const noXml = /[^\t\n\r\u{20}-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u

const refuse = (message: string): never => {
  throw new FederationError('token', message)
}

/** Removes the XML declaration and the byte order mark. */
export const withoutDeclaration = (xml: string): string => xml.replace(/^\ufeff/, '').replace(declaration, '')

/**
 * Reads a SAML document and refuses more than XML does: everything that a person, a signature and another parser could
 * read differently. No document type, no processing instruction, no CDATA, no name outside ASCII. Size, depth and all
 * counts are bounded. Its time is linear in the length.
 */
export function readXml(document: string): XmlElement {
  const xml = withoutDeclaration(document).replace(/\r\n?/g, '\n')
  if (noXml.test(xml)) refuse('The XML has a character that is not allowed in XML.')
  let root: XmlElement | undefined
  let nodes = 0
  const open: Open[] = []
  let at = 0
  while (at < xml.length) {
    const next = xml.indexOf('<', at)
    addText(open.at(-1), xml.slice(at, next < 0 ? undefined : next))
    if (next < 0) break
    at = next
    if (xml.startsWith('</', at)) {
      const [whole, tag] = match(closingTag, xml, at)
      if (open.pop()?.tag !== tag) refuse('The tags of the XML do not match.')
      at += whole.length
      continue
    }
    if (++nodes > maxNodes) refuse(`The XML has more than ${maxNodes} elements and comments.`)
    if (xml.startsWith('<!--', at)) {
      at = endOfComment(xml, at)
      continue
    }
    if (root && open.length === 0) refuse('The XML has more than one root element.')
    const { opened, isEmpty, end } = readTag(xml, at, open.at(-1)?.scope ?? outermost)
    root ??= opened.element
    open.at(-1)?.element.children.push(opened.element)
    open.at(-1)?.element.content.push(opened.element)
    if (!isEmpty) open.push(opened)
    if (open.length > maxDepth) refuse(`The XML is nested deeper than ${maxDepth} elements.`)
    at = end
  }
  if (open.length > 0) refuse('The XML is incomplete: its root element is not closed.')
  return root ?? refuse('The document is not XML.')
}

function match(pattern: RegExp, xml: string, at: number): RegExpExecArray {
  pattern.lastIndex = at
  const found = pattern.exec(xml)
  if (found) return found
  if (/^<[!?]/.test(xml.slice(at, at + 2)))
    return refuse('The XML contains a document type, an entity, a processing instruction or CDATA.')
  return refuse('A tag of the XML is not well formed.')
}

function endOfComment(xml: string, at: number): number {
  const end = xml.indexOf('--', at + 4)
  if (end < 0 || xml[end + 2] !== '>') refuse('A comment of the XML is not well formed.')
  return end + 3
}

function addText(to: Open | undefined, text: string) {
  if (to) {
    if (text.includes(']]>')) refuse('The text of the XML is not well formed.')
    if (text !== '') to.element.content.push(unescaped(text))
  } else if (/[^ \t\n]/.test(text)) refuse('There is text outside the root element of the XML.')
}

const unescaped = (text: string): string =>
  text.replace(reference, (_, name?: string, decimal?: string, hexadecimal?: string) => {
    if (name) return entities[name]!
    const code = decimal ? Number.parseInt(decimal, 10) : Number.parseInt(hexadecimal ?? '', 16)
    const character = code <= 0x10ffff ? String.fromCodePoint(code) : '\0'
    return noXml.test(character) ? refuse('The XML has an entity, or an invalid character reference.') : character
  })

function readTag(xml: string, start: number, outer: Scope): { opened: Open; isEmpty: boolean; end: number } {
  const [whole, tag = ''] = match(startOfTag, xml, start)
  let at = start + whole.length
  const written = new Map<string, string>()
  for (;;) {
    attribute.lastIndex = at
    const found = attribute.exec(xml)
    if (!found) break
    const [all, name = '', double, single] = found
    if (written.has(name)) refuse('An element of the XML has an attribute twice.')
    if (written.size === maxAttributes) refuse(`An element of the XML has more than ${maxAttributes} attributes.`)
    written.set(name, unescaped((double ?? single ?? '').replace(/[\t\n]/g, ' ')))
    at += all.length
  }
  const [end, slash] = match(endOfTag, xml, at)
  const scope = scopeOf(written, outer)
  const [namespace, name, prefix] = resolved(tag, scope)
  const element = { namespace, name, attributes: attributesOf(written, scope), children: [], prefix, content: [] }
  return { opened: { element, tag, scope }, isEmpty: slash === '/', end: at + end.length }
}

function scopeOf(written: ReadonlyMap<string, string>, outer: Scope): Scope {
  const prefixes = new Map<string, string>()
  for (const [name, value] of written) {
    if (name === 'xmlns') prefixes.set('', value)
    if (!name.startsWith('xmlns:')) continue
    if (/^xmlns:xml/i.test(name) || value === '') refuse('The XML declares a reserved prefix.')
    prefixes.set(name.slice(6), value)
  }
  return prefixes.size > 0 ? { prefixes, outer } : outer
}

function resolved(written: string, scope: Scope): [namespace: string, name: string, prefix: string] {
  const [prefix = '', name = ''] = written.includes(':') ? written.split(':') : ['', written]
  for (let inner: Scope | undefined = scope; inner; inner = inner.outer) {
    const namespace = inner.prefixes.get(prefix)
    if (namespace !== undefined) return [namespace, name, prefix]
  }
  return refuse('The XML uses a prefix that it does not declare.')
}

function attributesOf(written: ReadonlyMap<string, string>, scope: Scope): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>()
  for (const [qualified, value] of written) {
    if (qualified === 'xmlns' || qualified.startsWith('xmlns:')) continue
    const [namespace, name] = qualified.includes(':') ? resolved(qualified, scope) : ['', qualified]
    const key = namespace ? `{${namespace}}${name}` : name
    if (attributes.has(key)) refuse('An element of the XML has an attribute twice.')
    attributes.set(key, value)
  }
  return attributes
}
