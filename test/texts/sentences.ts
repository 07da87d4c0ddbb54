/** Splits texts into sentences and judges them by the rules for plain words. */

/** A text that a person reads, with the place where it is written. */
export type Text = { readonly place: string; readonly text: string }
export type Sentence = { readonly place: string; readonly sentence: string; readonly words: number }

/** Words that begin a clause in place of a noun: "What is deleted…", "…; who signs in…". */
const riddle =
  /(?:^|[;:—] |, (?:and|but|or|so) )(?:who|what|whom|where it)\b(?! (?:if|about)\b)|\b(?:whoever|whatever|whichever|whomever)\b/i

/** True if a clause of the sentence has a riddle as its subject. A question has none. */
export const hasRiddle = (sentence: string): boolean => !sentence.trimEnd().endsWith('?') && riddle.test(sentence)

/** Returns the paragraphs, list items and table cells of a Markdown page, without code blocks, headings and comments. */
export function proseOf(markdown: string): string[] {
  const text = markdown.replaceAll(/<!--[\s\S]*?-->/g, '').replaceAll(/^ *```[\s\S]*?^ *```$/gm, '\n')
  const blocks: string[] = []
  for (const line of text.split('\n')) {
    if (/^\s*\|/.test(line)) {
      if (!/^\s*\|[-:| ]+\|$/.test(line)) blocks.push(...line.split(/(?<!\\)\|/).map((cell) => cell.trim()), '')
    } else if (line.trim() === '' || /^#/.test(line) || (/^ {4,}\S/.test(line) && blocks.at(-1) === '')) blocks.push('')
    else if (/^\s*(?:[-*]|\d+\.) /.test(line)) blocks.push('', line.replace(/^\s*(?:[-*]|\d+\.) /, ''))
    else blocks.push(`${blocks.pop() ?? ''} ${line.trim()}`.trim())
  }
  return blocks.filter((block) => block !== '')
}

/** Replaces code by one word and links by their texts. */
const plain = (text: string): string =>
  text
    .replaceAll(/`[^`]*`/g, 'Code')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\*\*|__/g, '')

/** A fragment without a full stop counts as a sentence if it has as many words. */
const shortest = 8
/** Most words of a sentence. */
export const longest = 35

export function sentencesOf({ place, text }: Text): Sentence[] {
  return plain(text)
    .split(/(?<=[.!?]["”)]?)\s+(?=["“(]?[A-Z0-9{])|\n+/)
    .map((part) => ({
      place,
      sentence: part.trim(),
      words: part.split(/\s+/).filter((word) => /\w/.test(word)).length,
    }))
    .filter(({ sentence, words }) => words >= shortest || (words > 1 && /[.!?:]["”)]*$/.test(sentence)))
}
