/** How a person wants pages to look, as two cookies say that the console sets; undefined: as the system does. */
type Look = { theme: 'light' | 'dark' | undefined; density: 'compact' | 'roomy' | undefined }

/** A page that is written when it is sent, since how it looks depends on the browser that asks. */
export class HtmlPage {
  readonly #render: (attributes: string) => string

  /** @param render writes the page, given the attributes of `<html>` */
  constructor(render: (attributes: string) => string) {
    this.#render = render
  }

  /** @param cookies the field of the request */
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

const lookOf = (cookies: string | undefined): Look => ({
  theme: (['light', 'dark'] as const).find((theme) => theme === cookieOf(cookies, 'holdfast_theme')),
  density: (['compact', 'roomy'] as const).find((density) => density === cookieOf(cookies, 'holdfast_density')),
})

/** The value of a cookie. Undefined where it is given twice: nobody can say which of them is ours. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
  return values.length === 1 ? values[0]!.slice(name.length + 1) : undefined
}
