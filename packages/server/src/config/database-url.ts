import { X509Certificate } from 'node:crypto'
import type { Env } from './env.ts'
import { readNamedFile } from './files.ts'
import { shown, wrongSetting } from './wrong-setting.ts'

const takes = 'a URL such as postgres://user:password@host:5432/database or postgres://…/database?sslmode=verify-full'
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']
/** Files that parameters name, with the PEM label that each must contain. */
const files = { sslrootcert: 'CERTIFICATE', sslcert: 'CERTIFICATE', sslkey: 'PRIVATE KEY' } as const

/** Reads DATABASE_URL. Errors show only the scheme and parameters that hold no secret. */
export function databaseUrl(env: Env): string | undefined {
  const text = env.DATABASE_URL
  if (!text) return undefined
  const wrong = (found: string) => wrongSetting('DATABASE_URL', found, takes)
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? []
  if (!scheme) throw wrong('has no scheme')
  if (!/^postgres(ql)?$/.test(scheme)) throw wrong(`begins with ${shown(`${scheme}://`)}`)
  // The URL of a socket has no host. Only the driver's parser accepts that.
  const parseable = text.replace(/^([a-z]+:\/\/[^/@]*@)(?=[/?]|$)/, '$1socket')
  const url = URL.canParse(parseable) ? new URL(parseable) : undefined
  if (!url)
    throw wrong(
      'is not a valid URL (check that the port is at most 65535, and that characters such as / # ? @ % in the password are percent-encoded)',
    )
  try {
    for (const part of [url.username, url.password, url.pathname]) decodeURIComponent(part)
  } catch {
    throw wrong('has a % that is not part of a percent-encoded character (write %25)')
  }
  if (url.hash) throw wrong('has a # (write %23 if it is part of the password)')
  if (!/^\/[^/]+$/.test(url.pathname)) throw wrong('names no database after the host')
  checkParameters(url.searchParams, wrong)
  // The driver treats these modes alike, and warns that a later version will not.
  if (url.searchParams.get('uselibpqcompat') === 'true') return text
  return text.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full')
}

function checkParameters(parameters: URLSearchParams, wrong: (found: string) => Error): void {
  const mode = parameters.get('sslmode')
  if (mode !== null && !sslModes.includes(mode))
    throw wrong(`has sslmode=${shown(mode)}, which is not one of ${sslModes.join(', ')}`)
  for (const [parameter, label] of Object.entries(files)) {
    const file = parameters.get(parameter)
    if (file === null) continue
    const what = `${label === 'CERTIFICATE' ? 'a certificate' : 'a private key'} in PEM as ${parameter}`
    const pem = readNamedFile('DATABASE_URL', file, what).toString('latin1')
    const isRight = pem.includes(`${label}-----`) && (label !== 'CERTIFICATE' || isCertificate(pem))
    if (!isRight) throw wrong(`names the file ${shown(file)} as ${parameter}, which does not contain ${what}`)
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).serialNumber !== ''
  } catch {
    return false
  }
}
