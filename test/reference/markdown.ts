/** Builds Markdown for the generated pages of the reference. */

/** Returns a table. A bar in a cell is escaped. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n')

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

export const code = (text: string): string => `\`${text}\``

/** Returns a page that says that it is generated. Its examples are not run. */
export const page = (title: string, ...parts: readonly string[]): string =>
  `<!-- run: none -->\n<!-- Generated: UPDATE_GOLDEN=1 npm test -- test/reference/reference.test.ts -->\n# ${title}\n\n${parts.join('\n\n')}\n`
