import type { Variable } from './env.ts'

/** A setting that prevents the start. Its message is one line for the operator. */
export class ConfigError extends Error {}

/** Formats a value for a message: on one line, quoted, and truncated if long. */
export const shown = (value: string): string =>
  JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value).replace(/[\u007f-\u009f\u2028\u2029]/g, '?')

/** Formats a URL for a message, without any part that may be a password. */
export const shownUrl = (value: string): string =>
  shown(value.replace(/[?#].*$/s, '?…').replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1***@'))

/**
 * Creates an error about one variable.
 *
 * @param found the fault, as a predicate: `is "x"`, `names the file "x", which does not exist`; never a secret
 * @param takes the valid values
 */
export const wrongSetting = (name: Variable, found: string, takes: string): ConfigError =>
  new ConfigError(`${name} ${found}; set it to ${takes}.`)
