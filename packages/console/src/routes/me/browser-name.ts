/** From the more to the less specific: each browser also names those it is like. */
const browsers = [
  [/\bEdg\/(\d+)/, 'Edge'],
  [/\bOPR\/(\d+)/, 'Opera'],
  [/\bFirefox\/(\d+)/, 'Firefox'],
  [/\b(?:Headless)?Chrome\/(\d+)/, 'Chrome'],
  [/\bVersion\/(\d+)[\d.]* (?:Mobile\/\w+ )?Safari\//, 'Safari'],
] as const
const systems = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const

/**
 * Names the browser of a `User-Agent` header.
 *
 * @example browserName('Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/133.0') // 'Firefox 133, Linux'
 */
export function browserName(userAgent: string | null): string {
  if (!userAgent) return 'Unknown browser'
  const system = systems.find(([pattern]) => pattern.test(userAgent))?.[1]
  for (const [pattern, name] of browsers) {
    const version = pattern.exec(userAgent)?.[1]
    if (version) return system ? `${name} ${version}, ${system}` : `${name} ${version}`
  }
  return userAgent.split(' ')[0] ?? 'Unknown browser'
}

const words: Readonly<Record<string, string>> = {
  password: 'Password',
  totp: 'authenticator app',
  recovery_code: 'recovery code',
}

/** `password+totp` in words; what is none of ours stays as it is. */
export const methodWords = (method: string): string =>
  method
    .split('+')
    .map((part) => words[part] ?? part)
    .join(', ')
