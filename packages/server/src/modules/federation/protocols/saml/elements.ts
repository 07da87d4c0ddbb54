import type { XmlElement } from './xml.ts'

/** Returns the children of this name, in document order. */
export const childrenOf = (parent: XmlElement, namespace: string, name: string): XmlElement[] =>
  parent.children.filter((child) => child.name === name && child.namespace === namespace)

/** Returns the one child of this name; undefined if there is none or more than one. */
export function onlyChild(parent: XmlElement | undefined, namespace: string, name: string): XmlElement | undefined {
  const found = parent ? childrenOf(parent, namespace, name) : []
  return found.length === 1 ? found[0] : undefined
}

/** Returns the text of an element; undefined if there is no element or it has child elements. */
export const elementText = (element: XmlElement | undefined): string | undefined =>
  element && element.children.length === 0 ? element.content.join('') : undefined

/** Yields the element and all its descendants. */
export function* everyElement(root: XmlElement): Generator<XmlElement> {
  yield root
  for (const child of root.children) yield* everyElement(child)
}

/** Reads an `xs:dateTime` in UTC, the form that SAML uses; undefined for any other text. */
export function instantOf(text: string | undefined): Date | undefined {
  if (!text || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text)) return undefined
  const found = new Date(text)
  return Number.isNaN(found.getTime()) ? undefined : found
}
