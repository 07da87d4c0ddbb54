import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  byPlatform,
  defaultInstallTemplates,
  type GivenEnrollmentSettings,
  installPlatforms,
} from '@holdfast/contract/enrollment-settings'
import { sql } from 'kysely'
import { bearer, call, operation } from '../support/clients/api-calls.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { allEventsSql, eventsOf } from '../support/domain/audit-events.ts'

const unset: GivenEnrollmentSettings = {
  install_templates: byPlatform(() => null),
  download_urls: byPlatform(() => null),
}
const linux = (template: string | null, url: string | null = null): GivenEnrollmentSettings => ({
  install_templates: { ...unset.install_templates, linux: template },
  download_urls: { ...unset.download_urls, linux: url },
})

test('a tenant sets the install line of its client, and a new token is returned with it', async (t) => {
  const kit = await startKit(t)
  const { admin, publicUrl } = kit
  const before = await admin.getEnrollmentSettings()
  assert.deepEqual({ ...before, install_lines: undefined }, { ...unset, install_lines: undefined })
  for (const platform of installPlatforms)
    assert.equal(
      before.install_lines[platform],
      defaultInstallTemplates[platform].replace('{server}', publicUrl),
      'the example stands until the tenant sets its own',
    )

  const template = 'acme-vpn enroll {server} --token {token} # {server}, $& and {} stay'
  const given = linux(template, 'https://downloads.example.com/acme.deb')
  const after = await admin.updateEnrollmentSettings({ body: { ...given, install_lines: before.install_lines } })
  const line = `acme-vpn enroll ${publicUrl} --token {token} # ${publicUrl}, $& and {} stay`
  assert.deepEqual(after, { ...given, install_lines: { ...before.install_lines, linux: line } })
  const again = await admin.updateEnrollmentSettings({ body: given })
  assert.deepEqual(again, after)
  const events = await eventsOf(kit, 'enrollment_settings.updated')
  assert.equal(events.length, 1, 'an unchanged setting is not recorded')
  assert.deepEqual(events[0]?.changes, {
    'install_templates.linux': [null, template],
    'download_urls.linux': [null, 'https://downloads.example.com/acme.deb'],
  })

  const { secret, install_lines } = await admin.generateToken({ body: { name: 'laptops' } })
  assert.deepEqual(install_lines.linux, {
    line: line.replace('{token}', secret),
    download_url: 'https://downloads.example.com/acme.deb',
  })
  assert.deepEqual(install_lines.ios, { line: `${publicUrl} ${secret}`, download_url: null })
  const phones = await admin.generateToken({ body: { platforms: ['ios', 'other'] } })
  assert.deepEqual(
    installPlatforms.filter((platform) => phones.install_lines[platform] !== null),
    ['ios'],
    'only platforms that the token enrolls',
  )
  const bootstrap = await admin.generateToken({ body: { kind: 'bootstrap' } })
  assert.deepEqual(
    bootstrap.install_lines,
    byPlatform(() => null),
    'a bootstrap token enrolls no device',
  )

  const { token_id } = phones.enrollment_token
  const answers = [
    await admin.getToken({ params: { token_id } }),
    await admin.listTokens(),
    await admin.getEnrollmentSettings(),
  ]
  const { rows } = await kit.db.acrossTenants((tx) => sql`select * from ${sql.raw(allEventsSql)} e`.execute(tx))
  const stored = await kit.db.acrossTenants((tx) => sql`select * from tenant_settings`.execute(tx))
  const kept = JSON.stringify([answers, rows, stored.rows])
  for (const text of [secret, phones.secret, bootstrap.secret]) assert.ok(!kept.includes(text), 'no secret is kept')
})

test('an incomplete or misleading install line is refused by field', async (t) => {
  const kit = await startKit(t)
  const put = (body: object) => call(kit, operation('updateEnrollmentSettings'), bearer(kit.adminKey), body)
  const { secret } = await kit.admin.generateToken({ body: {} })
  const refused: [body: object, field: string, why: RegExp][] = [
    [linux('enroll {server} --token {tokn}'), 'install_templates.linux', /\{tokn\}: use \{server\} and \{token\}/],
    [linux(`enroll {server} --token ${secret}`), 'install_templates.linux', /contains a token or a key/],
    [linux('enroll\n{token}'), 'install_templates.linux', /line breaks/],
    [linux('enroll \u202e{token}'), 'install_templates.linux', /text-direction/],
    ...['\u200b', '\u200e', '\u00ad', '\u2060', '\ufeff', '\u3164', '\u061c', '\u{e0041}', '\u00a0', '\u3000'].map(
      (hidden): [object, string, RegExp] => [
        linux(`enroll ${hidden}{token}`),
        'install_templates.linux',
        /invisible character U\+[0-9A-F]{4,5}/,
      ],
    ),
    [linux('\u0430cme-vpn enroll {token}'), 'install_templates.linux', /\u0430cme-vpn.* mixes Latin letters/],
    [linux('   '), 'install_templates.linux', /blank/],
    [linux(''), 'install_templates.linux', /./],
    [linux('x'.repeat(1025)), 'install_templates.linux', /./],
    [linux(null, 'http://downloads.example.com/'), 'download_urls.linux', /https URL/],
    [linux(null, 'javascript:alert(1)'), 'download_urls.linux', /https URL/],
    [linux(null, 'https://user:word@downloads.example.com/'), 'download_urls.linux', /user name/],
    [linux(null, 'https:downloads.example.com'), 'download_urls.linux', /https URL/],
    [linux(null, 'https:\\\\downloads.example.com'), 'download_urls.linux', /https URL/],
    [linux(null, 'https://downlo\u0430ds.example.com/'), 'download_urls.linux', /https URL.*ASCII/],
    [linux(null, 'https://downloads.example.com/\u200b'), 'download_urls.linux', /https URL.*ASCII/],
    [linux(null, 'https://'), 'download_urls.linux', /https URL/],
    [{ ...unset, install_templates: { ...unset.install_templates, beos: 'x' } }, 'install_templates.beos', /./],
    [{ ...unset, lines: {} }, 'lines', /./],
  ]
  for (const [body, field, why] of refused) {
    const { status, json, text } = await put(body)
    assert.equal(status, 422, text)
    assert.deepEqual((json.errors as { field: string }[]).map((e) => e.field).slice(0, 1), [field], text)
    assert.match(text, why)
    assert.ok(!text.includes(secret))
  }
  const won = await times(20, (i) => put(linux(null, `https://downloads.example.com/${i}`)))
  assert.ok(won.every(({ status }) => status === 200))
  const { download_urls } = await kit.admin.getEnrollmentSettings()
  const events = await eventsOf(kit, 'enrollment_settings.updated')
  assert.equal(events.length, 20, 'each of twenty at once sees the one before')
  const chain = new Map(
    events.map(({ changes }) => (changes as { 'download_urls.linux': [string, string] })['download_urls.linux']),
  )
  let at: string | null = null
  for (let i = 0; i < 20; i++) at = chain.get(at as string) ?? assert.fail('a change was lost')
  assert.equal(at, download_urls.linux)
})
