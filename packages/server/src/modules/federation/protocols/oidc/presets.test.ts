import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hasReason } from '../../../../../test/support/providers/federation-errors.ts'
import { FederationError } from '../../enrollment/proven.ts'
import { groupsClaimOf, subjectClaimOf } from './claims.ts'
import { defaultScopes, issuerProblem, type OidcProvider } from './presets.ts'

const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const entra = { kind: 'entra_id', issuer: `https://login.microsoftonline.com/${tenant}/v2.0` } as const
const kinds: readonly OidcProvider['kind'][] = ['oidc', 'keycloak', 'entra_id', 'okta']

test('an issuer must have the form of its product', () => {
  const right: Record<OidcProvider['kind'], string[]> = {
    oidc: ['https://accounts.google.com', 'https://idp.example/', 'https://idp.example:8443/a/b', 'http://127.0.0.1:9'],
    keycloak: [
      'https://sso.example/realms/acme',
      'https://sso.example/auth/realms/acme%20inc',
      'http://10.0.0.1:8080/realms/a',
    ],
    entra_id: [
      entra.issuer,
      `https://login.microsoftonline.us/${tenant}/v2.0`,
      `https://login.partner.microsoftonline.cn/${tenant}/v2.0`,
    ],
    okta: ['https://acme.okta.com', 'https://login.acme.example', 'https://acme.okta.com/oauth2/default'],
  }
  const wrong: Record<OidcProvider['kind'], string[]> = {
    oidc: [
      '',
      'accounts.google.com',
      'ftp://idp.example',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'https://user:password@idp.example',
      'https://idp.example?a=b',
      'https://idp.example/?',
      'https://idp.example#',
      'https://IDP.example',
      'https://idp.example:443',
      'https://idp.example/a/../b',
      ' https://idp.example',
      'https://idp.example/a b',
      `https://idp.example/${'x'.repeat(512)}`,
    ],
    keycloak: [
      'https://sso.example',
      'https://sso.example/realms/',
      'https://sso.example/realms/acme/',
      'https://sso.example/realms/acme/account',
    ],
    entra_id: [
      ...['common', 'organizations', 'consumers', 'acme.onmicrosoft.com', tenant.toUpperCase()].map(
        (name) => `https://login.microsoftonline.com/${name}/v2.0`,
      ),
      'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
      `https://login.microsoftonline.com/${tenant}`,
      `https://login.microsoftonline.com/${tenant}/v2.0/`,
      `https://login.microsoftonline.com:8443/${tenant}/v2.0`,
      `http://login.microsoftonline.com/${tenant}/v2.0`,
      `https://login.microsoftonline.example/${tenant}/v2.0`,
      `https://sts.windows.net/${tenant}/`,
    ],
    okta: ['https://acme.okta.com/oauth2', 'https://acme.okta.com/oauth2/default/', 'https://acme.okta.com/app'],
  }
  for (const kind of kinds) {
    for (const issuer of right[kind]) assert.equal(issuerProblem(kind, issuer), undefined, issuer)
    for (const issuer of wrong[kind]) assert.match(issuerProblem(kind, issuer) ?? '', /^[A-Z].*\.$/, issuer)
    assert.ok(defaultScopes[kind].includes('openid'))
  }
})

test('the subject of Entra ID is the object id within its tenant, otherwise the claim sub', () => {
  const claims = { sub: 'pairwise', oid: 'object', tid: tenant }
  assert.equal(subjectClaimOf(entra, claims), 'object')
  for (const wrong of [
    { ...claims, tid: undefined },
    { ...claims, tid: '' },
    { ...claims, tid: tenant.replace('7', '8') },
    { ...claims, tid: [tenant] },
    { ...claims, oid: undefined },
    { ...claims, oid: 5 },
  ])
    assert.throws(() => subjectClaimOf(entra, wrong), hasReason('subject'))
  assert.throws(() => subjectClaimOf({ kind: 'entra_id', issuer: 'https://idp.example' }, {}), hasReason('subject'))
  assert.equal(subjectClaimOf({ kind: 'oidc', issuer: 'https://idp.example' }, claims), 'pairwise')
})

test('groups are read from a claim, and an incomplete list is refused', () => {
  const of = (claims: Record<string, unknown>, name = 'groups', kind: OidcProvider['kind'] = 'oidc') =>
    groupsClaimOf(kind, claims, name)
  assert.deepEqual(of({ groups: ['/a/b', 'c', 'c', ''] }), ['/a/b', 'c'])
  assert.deepEqual(of({ groups: 'one' }), ['one'])
  assert.deepEqual(of({ groups: [] }), [])
  assert.deepEqual(of({ roles: ['a'] }, 'roles'), ['a'])
  assert.deepEqual(of({ groups: ['a\0', '\ud800'] }), ['a\ufffd', '\ufffd'])
  for (const claims of [{}, { groups: null }, { groups: undefined }]) assert.equal(of(claims), undefined)
  for (const name of ['constructor', '__proto__', 'toString']) assert.equal(of({}, name), undefined)

  const overage = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph.example' } } }
  for (const groups of [
    5,
    true,
    {},
    { values: ['a'] },
    ['a', 5],
    [['a']],
    [null],
    ['x'.repeat(1025)],
    Array.from({ length: 5001 }, (_, i) => `${i}`),
  ])
    assert.throws(() => of({ groups }), hasReason('groups'), JSON.stringify(groups).slice(0, 40))
  for (const kind of kinds) {
    assert.throws(() => of(overage, 'groups', kind), hasReason('groups'))
    assert.throws(() => of({ ...overage, groups: ['a'] }, 'groups', kind), hasReason('groups'))
    assert.equal(of(overage, 'roles', kind), undefined)
  }
  for (const hasgroups of [true, 'true', 1])
    assert.throws(() => of({ hasgroups }, 'groups', 'entra_id'), hasReason('groups'))
  assert.equal(of({ hasgroups: false }, 'groups', 'entra_id'), undefined)
})

test('claims of any shape give a subject and groups, or a FederationError', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), fc.constantFrom(...kinds), (value, name, kind) => {
      for (const key of ['sub', 'oid', 'tid', '_claim_names', 'hasgroups', name]) {
        const claims = { sub: 's', oid: 'o', tid: tenant, [key]: value }
        for (const read of [() => subjectClaimOf({ ...entra, kind }, claims), () => groupsClaimOf(kind, claims, name)])
          try {
            for (const text of [read() ?? []].flat())
              assert.ok(text.isWellFormed() && !text.includes('\0') && text !== '')
          } catch (e) {
            assert.ok(e instanceof FederationError, String(e))
          }
      }
    }),
  )
})
