/** A mistake in a document: its position, such as `rules[3].to[0]`, and how to correct it. */
export type DocumentError = { field: string; message: string }

export type Step = string | number

/** Most characters of a key in a position. */
const maxKey = 80

const isPlain = (key: string): boolean =>
  key !== '' &&
  [...key].every((c) => (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || '_-'.includes(c))

/** Formats `['rules', 3, 'to', 0]` as `rules[3].to[0]`. A key with other characters becomes `resources["a.b"]`. */
export function positionOf(steps: readonly Step[]): string {
  let text = ''
  for (const step of steps) {
    if (typeof step === 'number') text += `[${step}]`
    else if (step.length > maxKey || !isPlain(step)) text += `[${JSON.stringify(step.slice(0, maxKey))}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}
