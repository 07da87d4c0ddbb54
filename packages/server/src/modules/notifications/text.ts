/** Line breaks, other control characters, and marks that change the direction of text. */
const disturbing = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
const cut = (text: string, max: number) => {
  const characters = [...text]
  return characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : text
}

/** Cleans titles, names and mail headers, because names come from people and devices. `max` in characters. */
export const shortLine = (text: string, max: number): string =>
  cut(text.replaceAll(disturbing, ' ').replaceAll(/ {2,}/g, ' ').trim(), max)

/** Cleans bodies: keeps line breaks and removes other control characters. */
export const plainLines = (text: string, max: number): string =>
  cut(
    text
      .split(/\r\n|\r|\n/)
      .map((line) => line.replaceAll(disturbing, ' ').trimEnd())
      .join('\n'),
    max,
  )
