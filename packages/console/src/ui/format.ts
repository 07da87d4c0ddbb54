/** @example formatNumber(1284) // '1,284' */
export const formatNumber = (value: number): string => {
  // Making the first formatter takes a slow browser some 50 ms, so the start of the console does not.
  numbers ??= new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 })
  return numbers.format(value)
}
let numbers: Intl.NumberFormat | undefined

/** @example formatCount(1, 'device') // '1 device' */
export const formatCount = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

/**
 * Formats a share as a percentage. Only an exact 0 or 100 is shown as such.
 *
 * @param share - 0 to 1
 * @example formatPercent(0.856) // '85.6 %'
 */
export function formatPercent(share: number): string {
  const percent = share * 100
  const shown = Math.round(percent * 10) / 10
  if (shown === 0 && percent > 0) return '< 0.1 %'
  if (shown === 100 && percent < 100) return '> 99.9 %'
  return `${formatNumber(shown)} %`
}

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const

/**
 * Formats an amount of data in steps of 1000.
 *
 * @example formatBytes(412_000_000) // '412 MB'
 */
export function formatBytes(bytes: number): string {
  let step = 0
  let value = bytes
  while (Math.abs(step === 0 ? value : Math.round(value * 10) / 10) >= 1000 && step < byteUnits.length - 1) {
    value /= 1000
    step += 1
  }
  return `${formatNumber(value >= 100 || step === 0 ? Math.round(value) : Math.round(value * 10) / 10)} ${byteUnits[step]}`
}

/** @example formatBitRate(48_200_000) // '48.2 Mbit/s' */
export const formatBitRate = (bitsPerSecond: number): string => formatBytes(bitsPerSecond).replace(/B$/, 'bit/s')

/** @example shortId('dev_01ke9m4d0cft8z2n6h1x5w3b7q') // 'dev_…5w3b7q' */
export const shortId = (id: string): string => {
  const [, prefix = ''] = /^([a-z]+_)/.exec(id) ?? []
  return id.length > prefix.length + 10 ? `${prefix}…${id.slice(-6)}` : id
}

/** @example shortDigest('9f86d081884c7d659a2f') // '9f86d081' */
export const shortDigest = (digest: string): string => digest.replace(/^sha256:/, '').slice(0, 8)

/** Shown texts of API words that differ from the word itself. */
const shownWords: Readonly<Record<string, string>> = {
  non_compliant: 'Fails',
  on_it: 'On this gateway',
  exhausted: 'Used up',
  entra_id: 'Entra ID',
  api_key: 'API key',
  mfa: 'Second factor',
  oidc: 'OpenID Connect',
  saml: 'SAML',
  scim: 'SCIM',
  ldap: 'LDAP',
  wireguard: 'WireGuard',
  macos: 'macOS',
  ios: 'iOS',
  cef: 'CEF',
  ocsf: 'OCSF',
  json: 'JSON',
  splunk_hec: 'Splunk HEC',
  opensearch: 'OpenSearch',
  syslog_tcp: 'Syslog over TCP',
  syslog_tls: 'Syslog over TLS',
  vpn_sessions: 'VPN sessions',
  idp: 'Provider',
  siem: 'SIEM',
}

/**
 * Returns the text that the console shows for a kind or state of the API.
 *
 * @example formatWord('non_compliant') // 'Fails'
 */
export function formatWord(word: string): string {
  const known = shownWords[word]
  if (known !== undefined) return known
  const plain = word.replaceAll('_', ' ')
  return plain.charAt(0).toUpperCase() + plain.slice(1)
}

/** @example formatInitials('Marta Lindqvist') // 'ML' */
export function formatInitials(name: string): string {
  const words = name.split(/[\s.@_-]+/).filter(Boolean)
  return `${words[0]?.charAt(0) ?? ''}${words[1]?.charAt(0) ?? ''}`.toUpperCase()
}

/** @example formatList(['a', 'b', 'c']) // 'a, b and c' */
export const formatList = (names: readonly string[]): string =>
  names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
