import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textsOfApi, textsOfDocuments, textsOfHelp, textsOfSources } from './extract.ts'
import { hasRiddle, longest, sentencesOf } from './sentences.ts'

/** Phrases of a private language, which a reader who does not know this project cannot understand. */
const retired = [
  /\b(?:goes|go) not together\b/i,
  /\b(?:is|are) none that\b/i,
  /\bis no \w+ more\b/i,
  /\bwhat (?:comes|came) (?:late|back|again|to be)\b/i,
  /\bcan not\b/i,
  /\bto who(?:ever)? (?:has|have|is|asks)\b/i,
  /\bit was so before\b/i,
  /\bset back by other means\b/i,
  /\bdo(?:es)? not open an account\b/i,
  /\bsuch questions are being answered\b/i,
  /\bthe record of (?:a|each|its|the) tenant\b/i,
  /\bon record\b/i,
  /\bwitness(?:es)?\b/i,
  /\bthe wall\b(?! clock)/i,
  /\bgiven on\b/i,
  /\bgave out\b/i,
  /\bput at a place\b/i,
  /\bthings? of ours\b/i,
  /\bis away\b/i,
  /\bhas gone away\b/i,
  /\bfor good and all\b/i,
  /\bmend(?:s|ed|ing)?\b/i,
  /\bno more(?=[.,;:]|$)/i,
  /\badministrat(?:e|es|ing)\b/i,
  /\bbeside\b/i,
  /\bjudg(?:e|es|ed|ing)\b(?!\.ts)/i,
  /\b(?:is|are|was|were) told\b/i,
  /\bheard of\b/i,
  /\bas (?:it|they) stands?\b/i,
  /\bis had\b/i,
  /\bas they should\b/i,
  /\ball the same\b/i,
  /\bwhat they put\b/i,
  /\bdropped whole\b/i,
  /\bbears?\b/i,
]

const kinds = { documents: textsOfDocuments, API: textsOfApi, help: textsOfHelp, sources: textsOfSources }
for (const [kind, texts] of Object.entries(kinds))
  test(`${kind}: plain sentences of at most ${longest} words, 14 in the mean, with a noun as the subject`, (t) => {
    const all = texts()
    const phrases = all.filter(({ text }) => retired.some((phrase) => phrase.test(text)))
    assert.deepEqual(phrases, [])
    const sentences = all.flatMap(sentencesOf)
    assert.ok(sentences.length > 100)
    assert.deepEqual(
      sentences.filter(({ words }) => words > longest),
      [],
    )
    const mean = sentences.reduce((sum, { words }) => sum + words, 0) / sentences.length
    const riddles = sentences.filter(({ sentence }) => hasRiddle(sentence))
    t.diagnostic(
      `${sentences.length} sentences of ${mean.toFixed(1)} words, ${riddles.length} with a riddle as subject`,
    )
    assert.ok(mean <= 14, `${mean.toFixed(1)} words in the mean`)
    assert.ok(
      riddles.length <= 0.005 * sentences.length,
      riddles.map(({ place, sentence }) => `${place}: ${sentence}`).join('\n'),
    )
  })
