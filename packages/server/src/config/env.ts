import { settings, type Variable } from './settings.ts'

export type { Variable } from './settings.ts'

export const variables = Object.keys(settings) as Variable[]

/** The environment: a variable that is not among the settings can't be read by name. */
export type Env = { readonly [name in Variable]?: string | undefined }

/** The only function that reads the environment. */
export const readEnv = (): Env & Record<string, string | undefined> => ({ ...process.env })
