// The site of the documentation, which packages/docs builds from the documents when they have changed.
import { filesBelow } from './build-cache.mjs'
import { builtFolder } from './built-folder.mjs'

/**
 * Returns the folder of the built site and builds it if needed; undefined if it can't be built.
 *
 * @param {string} root of the checkout
 * @param {(sentence: string) => void} warn receives the reason if there is none
 * @returns {Promise<string | undefined>}
 */
export function buildDocs(root, warn) {
  const sources = [
    ...filesBelow(root, 'docs', /\.(?:md|png|svg)$/),
    ...filesBelow(root, 'packages/docs/src', /\.(?:ts|css)$/),
    ...filesBelow(root, 'packages/console/test/screenshots', /^admin-1440-(?:dark|light)\.png$/),
    ...['README.md', 'CHANGELOG.md', 'packages/sdk/README.md', 'packages/console/src/styles/tokens.css'],
    ...['package-lock.json', 'scripts/docs.mjs'],
  ]
  return builtFolder(root, { name: 'docs', sources, program: 'packages/docs/src/main.ts' }, (why) =>
    warn(`The documentation was not built, so /admin/docs has no pages: ${why}.`),
  )
}
