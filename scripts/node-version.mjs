/** The first Node version with all features that Holdfast needs (TypeScript without a build, `crypto.argon2`). */
export const NEEDED = [24, 7]

/** @param {string} version as in `process.version` or package.json @returns {boolean} */
export function isEnough(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])
}
