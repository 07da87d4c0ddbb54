import type { XmlElement } from './xml.ts'

/** The children of this name, in order. */
export const childrenOf = (parent: XmlElement, namespace: string, name: string): XmlElement[] =>
  parent.children.filter((child) => child.name === name && child.namespace === namespace)

/** The one child of this name; undefined where there is none or more. */
export function onlyChild(parent: XmlElement | undefined, namespace: string, name: string): XmlElement | undefined {
  const found = parent ? childrenOf(parent, namespace, name) : []
  return found.length === 1 ? found[0] : undefined
}

/** The text of an element that holds nothing else; undefined where there is none such. */
export const textOf = (element: XmlElement | undefined): string | undefined =>
  element && element.children.length === 0 ? element.content.join('') : undefined

/** The element and all below it. */
export function* everyElement(root: XmlElement): Generator<XmlElement> {
  yield root
  for (const child of root.children) yield* everyElement(child)
}

/** `xs:dateTime` in UTC, as SAML has it; undefined where it is none. */
export function instantOf(text: string | undefined): Date | undefined {
  if (!text || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text)) return undefined
  const found = new Date(text)
  return Number.isNaN(found.getTime()) ? undefined : found
}
