import type { EncodedFile } from './encoded-file.ts'

/** Appearance of pages from two cookies that the console sets; undefined: the system's setting. */
type Look = { theme: 'light' | 'dark' | undefined; density: 'compact' | 'roomy' | undefined }

/** A page that is rendered when it is sent, since its appearance depends on the browser's cookies. */
export class HtmlPage {
  readonly #render: (attributes: string) => string

  /** @param render writes the page with the given attributes of `<html>` */
  constructor(render: (attributes: string) => string) {
    this.#render = render
  }

  /** @param cookies the Cookie header of the request */
  render(cookies: string | undefined): Buffer {
    const { theme, density } = lookOf(cookies)
    const attributes = [
      'lang="en"',
      ...(theme ? [`data-theme="${theme}"`] : []),
      ...(density ? [`data-density="${density}"`] : []),
    ]
    return Buffer.from(this.#render(attributes.join(' ')))
  }
}

/** A page with its header fields. Default status: 200. */
export type HtmlPageAnswer = {
  status?: number
  /** True if the browser keeps the body and asks whether it is current: the body gets a tag, and is compressed. */
  isRevalidated?: boolean
  headers: Readonly<Record<string, string | string[]>>
  body: Buffer | HtmlPage | EncodedFile
}
const lookOf = (cookies: string | undefined): Look => ({
  theme: (['light', 'dark'] as const).find((theme) => theme === cookieOf(cookies, 'holdfast_theme')),
  density: (['compact', 'roomy'] as const).find((density) => density === cookieOf(cookies, 'holdfast_density')),
})

/** Returns the value of a cookie. Undefined if it is sent twice, since either could be forged. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
  return values.length === 1 ? values[0]!.slice(name.length + 1) : undefined
}
