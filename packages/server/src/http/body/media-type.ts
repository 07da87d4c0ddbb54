const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const type = new RegExp(`^${token}/${token}`)
const parameter = new RegExp(`[ \\t]*;[ \\t]*(?:(${token})=(?:(${token})|"((?:[^"\\\\]|\\\\.)*)"))?`, 'y')

type MediaType = { type: string; charset: string | undefined }

/**
 * Parses a Content-Type (RFC 9110 §8.3.1): the type in lower case and its charset, which may be quoted. Other
 * parameters are ignored. Undefined for an invalid field.
 */
export function readMediaType(field: string | undefined): MediaType | undefined {
  const text = field?.trim() ?? ''
  const [name] = type.exec(text) ?? []
  if (name === undefined) return undefined
  const charsets = new Set<string>()
  for (parameter.lastIndex = name.length; parameter.lastIndex < text.length; ) {
    const [found, key, plain, quoted] = parameter.exec(text) ?? []
    if (!found) return undefined
    if (key?.toLowerCase() === 'charset')
      charsets.add((plain ?? quoted?.replaceAll(/\\(.)/g, '$1') ?? '').toLowerCase())
  }
  return charsets.size > 1 ? undefined : { type: name.toLowerCase(), charset: [...charsets][0] }
}
