// The files of the web console, which Vite builds from packages/console when its sources have changed.
import { filesBelow } from './build-cache.mjs'
import { builtFolder } from './built-folder.mjs'

/**
 * Returns the folder of the built console and builds it if needed; undefined if it can't be built.
 *
 * @param {string} root of the checkout
 * @param {(sentence: string) => void} warn receives the reason if there is none
 * @returns {Promise<string | undefined>}
 */
export function buildConsole(root, warn) {
  const sources = [
    ...filesBelow(root, 'packages/console/src', /\.\w+$/),
    ...filesBelow(root, 'packages/contract/src', /\.ts$/),
    ...['vite.config.ts', 'package.json', 'tsconfig.json'].map((name) => `packages/console/${name}`),
    ...['package-lock.json', 'scripts/console.mjs', 'scripts/console-build.mjs'],
  ]
  return builtFolder(root, { name: 'console', sources, program: 'scripts/console-build.mjs' }, (why) =>
    warn(`The web console was not built, so /admin shows a plain page: ${why}.`),
  )
}
