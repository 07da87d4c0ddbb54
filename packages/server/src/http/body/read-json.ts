import { fail } from '../../kernel/app-error.ts'
import { atOnce, createSlices, inSlices, type Slices } from '../../kernel/time-slice.ts'
import { refuseHidden } from './json-hidden.ts'
import { notJson, parseInPieces } from './json-pieces.ts'
import { requireFew } from './json-text.ts'

/**
 * Settings of an endpoint's body: limit of names in all objects together, limit of each text, and whether its handler
 * checks texts.
 */
type Reading = {
  bodyNames?: number | undefined
  textLimit?: number | undefined
  judgesTexts?: boolean | undefined
}
const defaultNames = 2000
const decodedAtOnce = 256 * 1024
const createDecoder = () => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const utf8 = createDecoder()

/**
 * Parses a body as strict RFC 8259 JSON: valid UTF-8 without a byte order mark, at most 32 levels deep, few names, no
 * duplicate and no `__proto__` names. Node's parser is lenient in each of these. 400 names the fault. 422 is for an
 * integer that would lose digits and, unless the handler checks texts, for a NUL or an unpaired surrogate, which the
 * database can't store.
 */
export function readJson(
  bytes: Buffer,
  { bodyNames = defaultNames, textLimit, judgesTexts = false }: Reading = {},
): unknown {
  const text = decode(utf8, bytes)
  const { names } = atOnce(requireFew(text, bodyNames, textLimit))
  const value = parse(text)
  atOnce(refuseHidden(text, value, names, judgesTexts))
  return value
}

/** The same, in time slices. */
export async function readLong(
  bytes: Buffer,
  { bodyNames = defaultNames, textLimit, judgesTexts = false }: Reading = {},
  slices = createSlices(),
): Promise<unknown> {
  const text = await decodeLong(bytes, slices)
  const { names, large } = await inSlices(requireFew(text, bodyNames, textLimit), slices)
  const value = await inSlices(parseInPieces(text, large), slices)
  await inSlices(refuseHidden(text, value, names, judgesTexts), slices)
  return value
}

async function decodeLong(bytes: Buffer, slices: Slices): Promise<string> {
  const decoder = createDecoder()
  const parts: string[] = []
  for (let at = 0; at < bytes.length; at += decodedAtOnce) {
    parts.push(decode(decoder, bytes.subarray(at, at + decodedAtOnce), { stream: true }))
    if (slices.isOver()) await slices.next()
  }
  return parts.join('') + decode(decoder)
}

function decode(decoder: typeof utf8, ...decodeArguments: Parameters<(typeof utf8)['decode']>): string {
  try {
    return decoder.decode(...decodeArguments)
  } catch {
    return fail('bad_request', 'the body is not valid UTF-8')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return notJson()
  }
}
