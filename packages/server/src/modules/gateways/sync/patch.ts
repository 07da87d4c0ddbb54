/** An operation of a JSON Patch (RFC 6902). */
export type PatchStep = { op: 'add' | 'replace'; path: string; value: unknown } | { op: 'remove'; path: string }

type Members = Record<string, unknown>
const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const pointer = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Returns the patch that turns one JSON value into another. Lists of different length are replaced as a whole. */
export function patchOf(from: unknown, to: unknown, path = ''): PatchStep[] {
  if (from === to) return []
  if (isMembers(from) && isMembers(to)) {
    const [before, after] = [from, to].map((o) => Object.keys(o).filter((name) => o[name] !== undefined)) as [
      string[],
      string[],
    ]
    return [
      ...before
        .filter((name) => !after.includes(name))
        .map((name) => ({ op: 'remove' as const, path: path + pointer(name) })),
      ...after.flatMap((name): PatchStep[] =>
        before.includes(name)
          ? patchOf(from[name], to[name], path + pointer(name))
          : [{ op: 'add', path: path + pointer(name), value: to[name] }],
      ),
    ]
  }
  if (Array.isArray(from) && Array.isArray(to) && from.length === to.length) {
    const steps = to.flatMap((value, i) => patchOf(from[i], value, `${path}/${i}`))
    const whole: PatchStep[] = [{ op: 'replace', path, value: to }]
    return JSON.stringify(steps).length < JSON.stringify(whole).length ? steps : whole
  }
  return [{ op: 'replace', path, value: to }]
}
