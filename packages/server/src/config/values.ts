import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Env, Variable } from './env.ts'
import { type NumberVariable, settingOf, settings } from './settings.ts'
import { shown, shownUrl, wrongSetting } from './wrong-setting.ts'

/** Reads a whole number between the bounds of its setting. */
export function wholeNumber(env: Env, name: NumberVariable, atLeast?: number): number {
  const text = env[name]
  const { default: otherwise, min = 0, max = 0 } = settingOf(name)
  if (!text) return Number(otherwise ?? 0)
  const value = Number(text)
  const least = atLeast ?? min
  if (!/^\d+$/.test(text) || value < least || value > max)
    throw wrongSetting(name, `is ${shown(text)}`, `a whole number from ${least} to ${max}`)
  return value
}

/** Reads the log level, the only variable that is one word of several. */
export function logLevel(env: Env) {
  const { choices, default: otherwise } = settings.HOLDFAST_LOG_LEVEL
  const word = choices.find((choice) => choice === (env.HOLDFAST_LOG_LEVEL || otherwise))
  if (word) return word
  throw wrongSetting('HOLDFAST_LOG_LEVEL', `is ${shown(env.HOLDFAST_LOG_LEVEL ?? '')}`, `one of ${choices.join(', ')}`)
}

export const hostInUrl = (host: string) => (isIP(host) === 6 ? `[${host}]` : host)

/** Reads an address or a host name to listen on, without brackets, port or scheme. */
export function listenHost(env: Env, name: Variable): string {
  const text = env[name] || String(settingOf(name).default)
  const isName = /^(?=.{1,253}$)(?=.*[a-z])[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(text)
  if (!isIP(text) && !isName)
    throw wrongSetting(
      name,
      `is ${shownUrl(text)}`,
      'an address or a host name without brackets, port or scheme, such as 0.0.0.0, ::1 or vpn.example.com',
    )
  return text
}

/** Certificates contain the host of the deployment (SPIFFE-ID §2.1), which allows fewer characters than a URL does. */
const isHost = ({ hostname }: URL) => /^[a-z0-9._-]{1,255}$|^\[/.test(hostname)

export function readOrigin(
  env: Env,
  name: Variable,
  otherwise: string,
  example = 'https://vpn.example.com or https://vpn.example.com:8443',
): string {
  const text = env[name]
  const url = URL.canParse(text || otherwise) ? new URL(text || otherwise) : undefined
  if (!text && url) return otherwise
  const isOrigin = url && url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password
  if (!isOrigin || !/^https?:$/.test(url.protocol) || !isHost(url) || url.port === '0')
    throw wrongSetting(
      name,
      text ? `is ${shownUrl(text)}` : `is not set, and ${shown(otherwise)} is not a URL`,
      `an origin such as ${example}: no path, query, user or password`,
    )
  return url.origin
}

export function cidrs(env: Env, name: Variable): string[] {
  const list = (env[name] ?? '').split(',').map((s) => s.trim())
  return list.filter(Boolean).map((cidr) => {
    const [address = ''] = cidr.split('/')
    if (!isIP(address) || !(ipaddr.isValidCIDR(cidr) || ipaddr.isValid(cidr)))
      throw wrongSetting(
        name,
        `contains ${shown(cidr)}`,
        'addresses or CIDRs separated by commas, such as 10.1.0.0/16, fd00::/8',
      )
    return cidr
  })
}

/** Reads a secret of printable characters. Errors show only its length. */
export function printableSecret(env: Env, name: Variable): string | undefined {
  const text = env[name]
  if (!text) return undefined
  if (!/^[\x21-\x7e]{32,256}$/.test(text))
    throw wrongSetting(
      name,
      `has ${text.length} characters${/[^\x21-\x7e]/.test(text) ? ', some of which are spaces or not ASCII' : ''}`,
      '32 to 256 printable ASCII characters without spaces',
    )
  return text
}
