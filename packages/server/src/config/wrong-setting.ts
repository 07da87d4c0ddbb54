import type { Variable } from './env.ts'

/** A setting that the server can't start with; its message is one line for the operator. */
export class ConfigError extends Error {}

/** A value as it is shown: on one line, quoted, and cut where it is long. */
export const shown = (value: string): string =>
  JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value).replace(/[\u007f-\u009f\u2028\u2029]/g, '?')

/** A URL as it is shown: without what may be a password. */
export const shownUrl = (value: string): string =>
  shown(value.replace(/[?#].*$/s, '?…').replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1***@'))

/**
 * An error about one variable.
 *
 * @param found what it is, as a predicate: `is "x"`, `names the file "x", which does not exist`; never a secret
 * @param takes what it may be
 */
export const wrongSetting = (name: Variable, found: string, takes: string): ConfigError =>
  new ConfigError(`${name} ${found}; it takes ${takes}.`)
