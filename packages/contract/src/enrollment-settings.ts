import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Nullable, Shown } from './schema.ts'

/** Platforms for which an administrator gives a person a command line or a link. `other` has no client of its own. */
export const installPlatforms = ['macos', 'windows', 'linux', 'ios', 'android'] as const
export type InstallPlatform = (typeof installPlatforms)[number]

type ByPlatform<T> = { [P in InstallPlatform]: T }
/** Returns the same value for each platform. */
export const byPlatform = <T>(of: (platform: InstallPlatform) => T): ByPlatform<T> =>
  Object.fromEntries(installPlatforms.map((p) => [p, of(p)])) as ByPlatform<T>

/** Placeholders of a template: the public URL of this deployment, and the secret of the enrollment token. */
export const installPlaceholders = ['{server}', '{token}'] as const

/**
 * Lines of platforms without a template. The command is an example, because the deployment has no client of its own. A
 * phone has no command line, so the line names the two values to enter.
 */
export const defaultInstallTemplates: ByPlatform<string> = {
  macos: 'your-agent enroll {server} --token {token}',
  windows: 'your-agent.exe enroll {server} --token {token}',
  linux: 'your-agent enroll {server} --token {token}',
  ios: '{server} {token}',
  android: '{server} {token}',
}

const Template = Nullable(
  Type.String({
    minLength: 1,
    maxLength: 1024,
    description: `One line with the placeholders ${installPlaceholders.join(' and ')}; no other {name}. null: the built-in example, which names no real client`,
    examples: ['acme-vpn enroll {server} --token {token}'],
  }),
)
const DownloadUrl = Nullable(
  Type.String({
    minLength: 1,
    maxLength: 2048,
    description: 'Download address of the client (https)',
    examples: ['https://downloads.example.com/client.pkg'],
  }),
)
const Line = Type.String({ description: 'The line in force: {server} is filled in, {token} is not' })

const Given = Closed({
  install_templates: Closed(
    byPlatform(() => Template),
    { description: 'Install lines for the client of the tenant; this deployment does not include a client' },
  ),
  download_urls: Closed(byPlatform(() => DownloadUrl)),
})
const Lines = Closed(
  byPlatform(() => Line),
  { description: 'The lines in force' },
)

/** Settings for how a person of the tenant enrolls a device. */
export const EnrollmentSettings = Closed({ ...Given.properties, install_lines: Lines }, { title: 'EnrollmentSettings' })
export type EnrollmentSettings = Static<typeof EnrollmentSettings>
export type GivenEnrollmentSettings = Static<typeof Given>

export const defaultEnrollmentSettings: GivenEnrollmentSettings = {
  install_templates: byPlatform(() => null),
  download_urls: byPlatform(() => null),
}

/**
 * Part of the answer with the secret of a new enrollment token. Each is null if the token enrolls no device of the
 * platform.
 */
export const InstallLines = Closed(
  byPlatform(() =>
    Nullable(
      Closed({
        line: Type.String({ description: 'Install line with the public URL and the secret' }),
        download_url: Nullable(Type.String()),
      }),
    ),
  ),
  { title: 'InstallLines', description: 'Lines that a person enters on the device. Only this answer contains them' },
)
export type InstallLines = Static<typeof InstallLines>

export const getEnrollmentSettings = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/enrollment',
  summary: 'Get the enrollment settings of the tenant',
  description: 'These are the install lines by platform, and the download addresses of the client.',
  access: { by: ['session', 'api_key'], permission: 'settings:read' },
  response: EnrollmentSettings,
  etag: true,
})

export const updateEnrollmentSettings = endpoint({
  method: 'PUT',
  path: '/v1/admin/settings/enrollment',
  summary: 'Replace the enrollment settings',
  description: 'The answer to the next enrollment token has the new lines.',
  access: { by: ['session', 'api_key'], permission: 'settings:write' },
  audit: 'enrollment_settings.updated',
  stepUp: {},
  body: Closed({ ...Given.properties, ...Shown(Closed({ install_lines: Lines })) }),
  response: EnrollmentSettings,
  ifMatch: true,
})
