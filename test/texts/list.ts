// node scripts/run.mjs test/texts/list.ts [documents|api|help|sources]…: prints every text that a person reads, with its place.
import { textsOfApi, textsOfDocuments, textsOfHelp, textsOfSources } from './extract.ts'

const kinds = { documents: textsOfDocuments, api: textsOfApi, help: textsOfHelp, sources: textsOfSources }
const wanted = process.argv.slice(2)
for (const [kind, texts] of Object.entries(kinds))
  if (wanted.length === 0 || wanted.includes(kind))
    for (const { place, text } of texts()) console.log(`${place}: ${text}`)
