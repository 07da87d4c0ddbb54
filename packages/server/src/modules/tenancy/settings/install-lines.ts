import {
  byPlatform,
  defaultInstallTemplates,
  type GivenEnrollmentSettings,
  type InstallLines,
  installPlaceholders,
  installPlatforms,
} from '@holdfast/contract/enrollment-settings'
import { failField } from '../../../kernel/app-error.ts'

/** A name in braces. Other braces belong to the shell of the platform. */
const placeholder = /\{[A-Za-z_][A-Za-z0-9_]*\}/g
/** The prefix of every token and key that this deployment mints. */
const ownSecret = /hf[a-z]_[0-9A-Za-z]/
/** Invisible characters, and spaces that a shell does not treat as spaces. */
const invisible = /\p{Default_Ignorable_Code_Point}|\p{Cf}|(?! )\p{Zs}/u
const latin = /\p{Script=Latin}/u
/** Scripts with letters that look like Latin ones (Unicode TR 39). */
const lookalike = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u
/**
 * A URL as in RFC 3986; international names are in Punycode. A browser would read a backslash or a missing slash
 * differently.
 */
const httpsUrl = /^https:\/\/[^/\\][\x21-\x5b\x5d-\x7e]*$/i

const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replaceAll(placeholder, (found) => values[found] ?? found)

const templateOf = ({ install_templates }: GivenEnrollmentSettings, platform: (typeof installPlatforms)[number]) =>
  install_templates[platform] ?? defaultInstallTemplates[platform]

/** Returns the lines in force, without a token. */
export const linesInForce = (settings: GivenEnrollmentSettings, server: string) =>
  byPlatform((platform) => fill(templateOf(settings, platform), { '{server}': server }))

export type TokenOfLines = { secret: string; kind: string; platforms: readonly string[] }
/**
 * Returns the lines for one enrollment token. They contain its secret, so they go into one answer and are neither
 * stored nor logged.
 */
export const linesForToken = (
  settings: GivenEnrollmentSettings,
  { server, secret, kind, platforms }: TokenOfLines & { server: string },
): InstallLines =>
  byPlatform((platform) =>
    kind === 'enroll' && (platforms.length === 0 || platforms.includes(platform))
      ? {
          line: fill(templateOf(settings, platform), { '{server}': server, '{token}': secret }),
          download_url: settings.download_urls[platform],
        }
      : null,
  )

/** Checks rules that involve several fields. */
export function checkInstallLines({ install_templates, download_urls }: GivenEnrollmentSettings): void {
  for (const platform of installPlatforms) {
    const template = install_templates[platform]
    if (template !== null) checkTemplate(`install_templates.${platform}`, template)
    const url = download_urls[platform]
    if (url !== null) checkUrl(`download_urls.${platform}`, url)
  }
}

function checkTemplate(field: string, template: string): void {
  const unknown = template.match(placeholder)?.find((name) => !installPlaceholders.some((known) => known === name))
  if (unknown !== undefined)
    failField(field, `has the unknown placeholder ${unknown}: use ${installPlaceholders.join(' and ')}`)
  if (ownSecret.test(template)) failField(field, 'contains a token or a key: write {token} instead')
  checkAppearance(field, template)
}

/** A person copies the line into a shell, so it must do exactly what it shows. */
function checkAppearance(field: string, template: string): void {
  const [hidden] = invisible.exec(template) ?? []
  if (hidden !== undefined)
    failField(field, `contains the invisible character U+${codeOf(hidden)}: delete it, or write an ordinary space`)
  if (template.trim() === '') failField(field, 'is blank: give a line, or null for the built-in example')
  const mixed = template.split(' ').find((part) => latin.test(part) && lookalike.test(part))
  if (mixed !== undefined)
    failField(field, `"${mixed}" mixes Latin letters with letters of another alphabet that look like them`)
}
const codeOf = (character: string): string =>
  (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')

function checkUrl(field: string, text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'https:' || !httpsUrl.test(text))
    failField(field, 'must be an https URL in ASCII such as https://downloads.example.com/client.pkg')
  if (url.username !== '' || url.password !== '') failField(field, 'must not contain a user name or a password')
}
