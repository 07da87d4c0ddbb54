import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { defaultEnrollmentSettings, EnrollmentSettings } from '../packages/contract/src/enrollment-settings.ts'
import {
  defaultEmailSettings,
  defaultWebhookSettings,
  NotificationSettings,
} from '../packages/contract/src/notifications.ts'
import { Retention } from '../packages/contract/src/retention.ts'
import { defaultSecuritySettings, SecuritySettings } from '../packages/contract/src/settings.ts'
import { variables } from '../packages/server/src/config/env.ts'
import { groups, settingOf } from '../packages/server/src/config/settings.ts'

const folder = join(import.meta.dirname, '../docs/reference')

/** Compares a page with its reviewed text. `UPDATE_GOLDEN=1` writes it. */
function compare(name: string, lines: readonly string[]): void {
  const file = join(folder, name)
  const text = `${lines.join('\n')}\n`
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, text)
  assert.equal(readFileSync(file, 'utf8'), text, `${name} is not what the code says: run with UPDATE_GOLDEN=1`)
}

const row = (...cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
const table = (head: readonly string[], rows: readonly string[]) => [
  row(...head),
  `|${'---|'.repeat(head.length)}`,
  ...rows,
]
const code = (value: unknown) => `\`${String(value)}\``
const range = (min?: number, max?: number) =>
  min === undefined || max === undefined ? '' : `${min.toLocaleString('en')} to ${max.toLocaleString('en')}`

const variableRow = (name: (typeof variables)[number]) => {
  const { default: value, unset, unit, min, max, choices, meaning } = settingOf(name)
  const usual = value === undefined ? (unset ?? '') : code(value)
  return row(code(name), usual, choices ? choices.map(code).join(', ') : range(min, max), unit ?? '', `${meaning}.`)
}

test('docs/reference/settings.md lists each variable with the default and the bounds of its parser', () => {
  const listed = groups.flatMap((group) => variables.filter((name) => settingOf(name).group === group))
  assert.deepEqual(listed.toSorted(), variables.toSorted())
  compare('settings.md', [
    '# Settings of the server',
    '',
    'For operators who look up an environment variable. Start with [configuration](../configuration.md). This page is',
    'generated from `packages/server/src/config/settings.ts`. The server reads all variables once, at its start.',
    ...groups.flatMap((group) => [
      '',
      `## ${group}`,
      '',
      ...table(
        ['variable', 'default, or without it', 'values', 'unit', 'meaning'],
        variables.filter((name) => settingOf(name).group === group).map(variableRow),
      ),
    ]),
  ])
})

type Schema = {
  type?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
  description?: string
  readOnly?: boolean
  anyOf?: Schema[]
  items?: Schema
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, Schema>
}

/** Meanings of fields that have no description in the contract. A description of the contract comes first. */
const meanings: Record<string, string> = {
  'login.max_failures_per_ip': 'Failed sign-ins from one address within the window. Further ones get 429',
  'login.window_seconds': 'Time in seconds for which a failed sign-in counts',
  'login.lockout_threshold': 'Failed sign-ins of one user that lock the account',
  'login.lockout_seconds': 'Time in seconds for which the account is locked',
  'sessions.idle_seconds': 'Time in seconds without a request after which an admin session ends',
  'sessions.absolute_seconds': 'Longest time in seconds of an admin session',
  'devices.require_device_key': 'A device needs a key of its own, and proves it with each request',
  'devices.approval': 'An administrator approves each new device',
  'email.enabled': 'Notifications are sent by e-mail',
  'email.recipients': 'Addresses of recipients',
  'email.min_severity': 'Lowest severity that is sent',
  'webhook.enabled': 'Notifications are sent to the webhook',
  'webhook.url': 'Receiver of the webhook. Answers show its host only',
}

/** Values of a nested object or schema by their dotted names. */
function flatten<T>(value: Record<string, T>, inner: (part: T) => Record<string, T> | undefined, before = '') {
  return Object.entries(value).flatMap(([name, part]): [string, T][] => {
    const within = inner(part)
    return within ? flatten(within, inner, `${before}${name}.`) : [[before + name, part]]
  })
}

function valuesOf(schema: Schema): string {
  const parts = schema.anyOf?.filter(({ type }) => type !== 'null')
  if (parts?.length === 1) return `${valuesOf(parts[0]!)}, or \`null\``.replace(/^, or /, '')
  const words = schema.enum ?? parts?.map((part) => part.const)
  if (words) return words.map(code).join(', ')
  if (schema.type === 'boolean') return '`true`, `false`'
  if (schema.type === 'array') return schema.maxItems ? `up to ${schema.maxItems} items` : 'a list'
  if (schema.maxLength) return `up to ${schema.maxLength.toLocaleString('en')} characters`
  return range(schema.minimum, schema.maximum)
}

const describe = (schema: Schema): string | undefined =>
  schema.description ?? schema.anyOf?.map((part) => part.description).find((text) => text !== undefined)

function tenantRows(schema: unknown, defaults: Record<string, unknown>, skip: readonly string[] = []): string[] {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  const given = new Map(
    flatten(defaults, (value) => (isObject(value) ? (value as Record<string, unknown>) : undefined)),
  )
  const fields = flatten((schema as Schema).properties!, ({ properties }) => properties)
  return fields
    .filter(([name]) => !skip.some((part) => name.startsWith(part)))
    .map(([name, field]) => {
      const value = given.get(name)
      const meaning = describe(field) ?? meanings[name]
      assert.ok(meaning !== undefined, `${name} has no description`)
      return row(code(name), value === undefined ? '' : code(JSON.stringify(value)), valuesOf(field), `${meaning}.`)
    })
}

test('docs/reference/tenant-settings.md lists each setting of a tenant with the default and the bounds of the contract', () => {
  const head = ['setting', 'default', 'values', 'meaning']
  const retention = (Retention as Schema).properties!.days!
  const unset = Object.fromEntries(Object.keys(retention.properties!).map((name) => [name, null]))
  compare('tenant-settings.md', [
    '# Settings of a tenant',
    '',
    'For administrators who look up a setting of their tenant. This page is generated from the API description. Each PUT',
    'replaces all settings of its page. All replicas follow within a second.',
    '',
    '## Sign-in, sessions, rates, devices',
    '',
    '`holdfast settings security show` prints them. The API is `/v1/admin/settings/security`.',
    '',
    ...table(head, tenantRows(SecuritySettings, defaultSecuritySettings)),
    '',
    '## Notifications',
    '',
    '`holdfast settings notifications show` prints them. The API is `/v1/admin/settings/notifications`, see',
    '[notifications](../notifications.md).',
    '',
    ...table(head, [
      ...tenantRows(NotificationSettings, { email: defaultEmailSettings, webhook: defaultWebhookSettings }, [
        'email.available',
        'webhook.origin',
        'webhook.secret_set',
      ]),
      row('`webhook.url`', '`null`', 'up to 2,048 characters', `${meanings['webhook.url']}.`),
    ]),
    '',
    '## Enrollment',
    '',
    '`holdfast settings enrollment show` prints them. The API is `/v1/admin/settings/enrollment`, see',
    '[enrollment](../enrollment.md).',
    '',
    ...table(head, tenantRows(EnrollmentSettings, defaultEnrollmentSettings, ['install_lines'])),
    '',
    '## Retention',
    '',
    '`holdfast retention show` prints them. The API is `/v1/admin/compliance/retention`, see',
    '[retention](../retention.md).',
    '',
    ...table(head, tenantRows(retention, unset)),
  ])
})
