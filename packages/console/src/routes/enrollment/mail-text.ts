import { formatExact, type TimeZone } from '../../ui/format-time.ts'
import { platformWords } from '../devices/words.ts'
import { devicesAllowed, type Token } from './words.ts'

type Parts = {
  token: Pick<Token, 'expires_at' | 'max_uses'>
  line: string
  platform: keyof typeof platformWords
  url: string | null
  zone: TimeZone
}

/** Returns a text for the person with the device. It contains the secret, like the line. */
export function mailText({ token, line, platform, url, zone }: Parts): string {
  const isPhone = platform === 'ios' || platform === 'android'
  const steps = [
    ...(url ? [`Install the client for ${platformWords[platform]}: ${url}`] : []),
    isPhone ? `Open the client and enter: ${line}` : `Open a terminal and run this line: ${line}`,
  ]
  return [
    'Hello,',
    '',
    'please add your device to the network:',
    '',
    ...steps.map((step, i) => `${i + 1}. ${step}`),
    '',
    `The line works for ${devicesAllowed(token.max_uses)}, until ${formatExact(token.expires_at, zone)}.`,
    'Do not pass it on: it adds a device in your name. Tell us if somebody else has seen it.',
    '',
  ].join('\n')
}
