/** Deterministic numbers below 2^32 (xorshift32): a run that fails fails again. */
function createDice(seed: number) {
  let state = seed * 2_654_435_761 || 1
  return (below: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

/** Characters that parsers treat specially, and some that only look like others. */
const hostileCharacters = [
  ...'\0\t\n\r "\'%&()*+,-./0129:;<=>?@[\\]^_`{|}~\x7f\x80\x85\xa0\xff',
  ...['\u2028', '\u202e', '\u0661', '\uff11', '\ufeff', '\ud800', '\u{1f600}', '%00', '..', '[]', '\r\n', '-----'],
]
const hostileBytes = [
  0x00, 0x01, 0x02, 0x05, 0x06, 0x0a, 0x17, 0x18, 0x20, 0x30, 0x31, 0x39, 0x7f, 0x80, 0x84, 0xa0, 0xff,
]

/**
 * Mutants of a sequence. One element at a time is replaced, followed by another, removed or repeated, or the sequence
 * is cut there.
 */
function* mutated<T>(
  valid: readonly T[],
  hostile: (at: number, dice: (below: number) => number) => T,
  count: number,
  seed: number,
): Generator<readonly T[]> {
  const dice = createDice(seed)
  for (let i = 0; i < count; i++) {
    // A stride without a common factor with most lengths visits each index once before it repeats.
    const at = valid.length === 0 ? 0 : (i * 7919) % valid.length
    const before = valid.slice(0, at)
    switch (dice(8)) {
      case 0:
        yield [...before, hostile(at, dice), ...valid.slice(at)]
        break
      case 1:
        yield [...before, ...valid.slice(at + 1)]
        break
      case 2: {
        const end = at + 1 + dice(8)
        yield [...before, ...valid.slice(at, end), ...valid.slice(at, end), ...valid.slice(end)]
        break
      }
      case 3:
        yield before
        break
      default:
        yield [...before, hostile(at, dice), ...valid.slice(at + 1)]
    }
  }
}

/** Byte by byte: a hostile byte, its neighbour, or one bit changed. */
export function* mutantsOfBytes(valid: Uint8Array, count: number, seed = 1): Generator<Buffer> {
  const hostile = (at: number, dice: (below: number) => number) => {
    const own = valid[at] ?? 0
    const [next, flipped] = [(own + 1) & 0xff, own ^ (1 << dice(8))]
    return [next, flipped, hostileBytes[dice(hostileBytes.length)]!][dice(3)]!
  }
  for (const bytes of mutated([...valid], hostile, count, seed)) yield Buffer.from(bytes)
}

/** Character by character. */
export function* mutantsOfText(valid: string, count: number, seed = 1): Generator<string> {
  const hostile = (at: number, dice: (below: number) => number) => {
    const next = String.fromCharCode((valid.charCodeAt(at) + 1) & 0xff)
    return dice(4) === 0 ? next : hostileCharacters[dice(hostileCharacters.length)]!
  }
  for (const characters of mutated([...valid], hostile, count, seed)) yield characters.join('')
}

const hostileValues: readonly unknown[] = [
  ...[null, true, -1, 0, 1.5, 1e308, 9_007_199_254_740_991, '', 'a', '\0', '\ud800', '9'.repeat(400)],
  ...['9999-99-99T99:99:99.999Z', '+275760-09-13T00:00:00.001Z', '-00:00', '::ffff:999', '%', '__proto__', 'https://'],
  ...[[], [[]], [null], ['a', 'a'], {}, { a: { b: [] } }, { length: -1 }],
]

/** A JSON value with one part replaced or removed, at each path in turn. */
export function* mutantsOfJson(valid: unknown, count: number, seed = 1): Generator<unknown> {
  const dice = createDice(seed)
  const paths = [...pathsIn(valid)].filter((path) => path.length > 0)
  for (let i = 0; i < count; i++) {
    const path = paths[(i * 7919) % paths.length]!
    yield replaced(valid, path, dice(hostileValues.length + 1))
  }
}

type Path = readonly (string | number)[]
function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  yield path
  if (typeof value !== 'object' || value === null) return
  for (const [name, part] of Object.entries(value)) yield* pathsIn(part, [...path, name])
}

/** Replaces the part at the path by the hostile value with index `which`, or removes it if there is none. */
function replaced(value: unknown, [name, ...rest]: Path, which: number): unknown {
  if (name === undefined) return hostileValues[which]
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, unknown>
  if (rest.length === 0 && which >= hostileValues.length) {
    if (Array.isArray(copy)) copy.splice(Number(name), 1)
    else delete copy[name]
  } else copy[name] = replaced(copy[name], rest, which)
  return copy
}
