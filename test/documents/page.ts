/** Reads the code blocks of a page, with what their info strings say about running them. */

export type Block = {
  /** Line of the fence, from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
  /** Attributes of the info string, as in `json file=policy.json`. */
  readonly attributes: Readonly<Partial<Record<Attribute, string>>>
}
export type Page = {
  /** Names of set-ups, from `<!-- run: tenant, gateway -->` in the first lines; `none` for a page that is not run. */
  readonly setups: readonly string[]
  readonly blocks: readonly Block[]
}

/**
 * - `file`: the block is the content of this file
 * - `from`: the block shows this file, or the part of it behind `#` (a JSON pointer)
 * - `exit`: the last command of the block exits with this code
 * - `input`: standard input of the block; variables are replaced
 * - `needs`: programs of Debian packages that the commands start; such a block runs in the interop tests only. The
 *   commands of a block with `needs=fresh-machine` are for the root user of a new server
 * - `by-hand`: the reason why a program cannot run the block
 */
const attributes = ['file', 'from', 'exit', 'input', 'needs', 'by-hand'] as const
type Attribute = (typeof attributes)[number]

/**
 * Reads a page.
 * @throws an error with the line if an info string has an unknown attribute, or a fence has no language.
 */
export function readPage(markdown: string): Page {
  const [, setups = 'tenant'] = /^<!-- run: ([\w, -]+?) -->$/m.exec(markdown.split('\n').slice(0, 4).join('\n')) ?? []
  const blocks: Block[] = []
  let open: { indent: string; fence: string; line: number; info: string; lines: string[] } | undefined
  for (const [at, text] of markdown.split('\n').entries()) {
    if (open) {
      if (text.trim() === open.fence) {
        blocks.push({
          line: open.line,
          ...readInfo(open.info, open.line),
          text: open.lines.map((line) => `${line}\n`).join(''),
        })
        open = undefined
      } else open.lines.push(text.startsWith(open.indent) ? text.slice(open.indent.length) : text)
      continue
    }
    const [, indent = '', fence = '', info = ''] = /^( *)(`{3,})(.*)$/.exec(text) ?? []
    if (fence !== '') open = { indent, fence, line: at + 1, info: info.trim(), lines: [] }
  }
  if (open) throw new Error(`line ${open.line}: the code block is not closed`)
  return { setups: setups.split(',').map((name) => name.trim()), blocks }
}

function readInfo(info: string, line: number): Pick<Block, 'language' | 'attributes'> {
  const [language = '', ...rest] = info.match(/[^\s="]+(?:=(?:"[^"]*"|[^\s"]+))?/g) ?? []
  if (language === '' || language.includes('=')) throw new Error(`line ${line}: the code block has no language`)
  const entries = rest.map((word) => {
    const [, name = '', value = ''] = /^([\w-]+)(?:="?(.*?)"?)?$/.exec(word) ?? []
    if (!attributes.some((known) => known === name)) throw new Error(`line ${line}: unknown attribute "${word}"`)
    return [name, value]
  })
  return { language, attributes: Object.fromEntries(entries) }
}

/** True if the output is the one shown. `…` in it stands for any text, and several spaces count as one. */
export function matches(shown: string, output: string): boolean {
  const lines = (text: string) =>
    text
      .replaceAll(/[ \t]+$/gm, '')
      .replaceAll(/[ \t]+/g, ' ')
      .trim()
  const pattern = lines(shown)
    .split(/ ?… ?/)
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join(' ?[\\s\\S]*? ?')
  return new RegExp(`^${pattern}$`).test(lines(output))
}
