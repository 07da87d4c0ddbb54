/** Browsers, most specific first: each one also names the browsers that it resembles. */
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
 * Returns the name of the browser from a `User-Agent` header.
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

/** Returns `password+totp` in words. An unknown method stays as it is. */
export const methodWords = (method: string): string =>
  method
    .split('+')
    .map((part) => words[part] ?? part)
    .join(', ')
