// node scripts/run.mjs test/texts/measure.ts [documents|api|help|sources]… [--list]: prints how plain the texts are; with
// --list also each sentence that is too long or has a riddle for a subject.
import { textsOfApi, textsOfDocuments, textsOfHelp, textsOfSources } from './extract.ts'
import { hasRiddle, longest, sentencesOf } from './sentences.ts'

const kinds = { documents: textsOfDocuments, api: textsOfApi, help: textsOfHelp, sources: textsOfSources }
const options = process.argv.slice(2)
const wanted = options.filter((option) => !option.startsWith('--'))
for (const [kind, texts] of Object.entries(kinds)) {
  if (wanted.length > 0 && !wanted.includes(kind)) continue
  const sentences = texts().flatMap(sentencesOf)
  const long = sentences.filter(({ words }) => words > longest)
  const riddles = sentences.filter(({ sentence }) => hasRiddle(sentence))
  const mean = sentences.reduce((sum, { words }) => sum + words, 0) / sentences.length
  const share = (100 * riddles.length) / sentences.length
  console.log(`${kind}: ${sentences.length} sentences of ${mean.toFixed(1)} words, ${long.length} over ${longest}`)
  console.log(`  ${riddles.length} riddles (${share.toFixed(1)} %)`)
  if (options.includes('--list'))
    for (const { place, sentence } of [...long, ...riddles]) console.log(`  ${place}: ${sentence}`)
}
