import { homedir } from 'node:os'
import { join } from 'node:path'
import { readPrivateFile, writePrivateFile } from '@holdfast/sdk'
import { UsageError } from './exit.ts'

/** File of `holdfast login`. A credential is sent only to its own URL. */
type Config = {
  url?: string
  session?: { cookie: string; username: string; expires_at: string }
  api_key?: string
}
export type Environment = Record<string, string | undefined>

export const configPath = ({ XDG_CONFIG_HOME, HOME }: Environment): string =>
  join(XDG_CONFIG_HOME || join(HOME || homedir(), '.config'), 'holdfast', 'config.json')

export async function readConfig(env: Environment): Promise<Config> {
  const path = configPath(env)
  const text = await readPrivateFile(path)
  if (text === undefined) return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // The error is thrown below.
  }
  throw new UsageError(`${path} can't be read. Remove it and sign in again.`)
}

export const writeConfig = (env: Environment, config: Config): Promise<void> =>
  writePrivateFile(configPath(env), `${JSON.stringify(config, null, 2)}\n`)

/** Saves the new cookie, if the saved session is the renewed one. */
export async function renewSession(env: Environment, old: string, cookie: string): Promise<void> {
  const config = await readConfig(env)
  if (config.session?.cookie === old) await writeConfig(env, { ...config, session: { ...config.session, cookie } })
}

export type Connection = { baseUrl: string } & ({ apiKey: string } | { cookie: string } | Record<never, never>)

/** Precedence: flag, environment, file. */
export function chooseConnection(flag: string | undefined, env: Environment, config: Config): Connection {
  const baseUrl = flag ?? (env.HOLDFAST_URL || config.url)
  if (baseUrl === undefined) throw new UsageError('Which server? Run holdfast login, or set --url or HOLDFAST_URL.')
  if (env.HOLDFAST_API_KEY) return { baseUrl, apiKey: env.HOLDFAST_API_KEY }
  if (config.url === undefined || !sameUrl(baseUrl, config.url)) return { baseUrl }
  if (config.api_key !== undefined) return { baseUrl, apiKey: config.api_key }
  return config.session ? { baseUrl, cookie: config.session.cookie } : { baseUrl }
}

const sameUrl = (a: string, b: string): boolean => a.replace(/\/+$/, '') === b.replace(/\/+$/, '')
