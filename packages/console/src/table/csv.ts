type Row = Readonly<Record<string, unknown>>

/**
 * Flattens an object: field `digest` of object `policy` becomes `policy.digest`. List items are separated by spaces.
 */
export function flatten(row: Row, prefix = ''): Record<string, string> {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => {
      if (value !== null && typeof value === 'object' && !Array.isArray(value))
        return Object.entries(flatten(value as Row, `${prefix}${name}.`))
      return [[prefix + name, Array.isArray(value) ? value.join(' ') : value === null ? '' : String(value)]]
    }),
  )
}

/**
 * Formats rows as CSV (RFC 4180). A cell that starts with `=`, `+`, `-`, `@`, tab or CR gets a leading apostrophe: a
 * spreadsheet would run it as a formula.
 */
export function toCsv(rows: readonly Readonly<Record<string, string>>[]): string {
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  // An object that is null in some rows has one column for each of its fields, and none of its own.
  const names = all.filter((name) => !all.some((other) => other.startsWith(`${name}.`)))
  const cell = (value: string) => {
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  return [names, ...rows.map((row) => names.map((name) => row[name] ?? ''))]
    .map((cells) => cells.map(cell).join(','))
    .join('\r\n')
}
