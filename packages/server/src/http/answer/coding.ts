export type Coding = 'br' | 'gzip' | 'identity'

/**
 * Returns the coding with the client's highest weight (RFC 9110 §12.5.3), the first of equal ones; uncompressed if the
 * client accepts none.
 *
 * @param header Accept-Encoding of the request
 * @param available in the order of preference
 */
export function negotiate(header: string | string[] | undefined, available: readonly Coding[]): Coding {
  const weights = new Map<string, number>()
  for (const item of (header ?? '').toString().toLowerCase().split(',').slice(0, 20)) {
    const [name = '', quality, ...others] = item.split(';').map((part) => part.trim())
    const weight = quality === undefined ? '1' : /^q=([01](?:\.\d{0,3})?)$/.exec(quality)?.[1]
    if (/^[a-z0-9*_-]+$/.test(name) && weight !== undefined && others.length === 0) weights.set(name, Number(weight))
  }
  const others = weights.get('*')
  /** A client gets no compression that it did not ask for. The plain file is the last choice. */
  const weightOf = (coding: Coding) => weights.get(coding) ?? others ?? (coding === 'identity' ? 0.0001 : 0)
  const [best] = available.filter((coding) => weightOf(coding) > 0).sort((a, b) => weightOf(b) - weightOf(a))
  return best ?? 'identity'
}
