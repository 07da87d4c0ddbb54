import type { Contract, Input } from '@holdfast/contract'
import type { CallInput, Client } from '../client.ts'
import { change } from '../versions.ts'

type Changing =
  | 'updateSecuritySettings'
  | 'updateEnrollmentSettings'
  | 'updateNotificationSettings'
  | 'updateGatewayPool'
  | 'updateView'
  | 'updateGateway'
  | 'updateIdentityProvider'
  | 'updateDirectorySource'
  | 'updatePlan'
  | 'updateRelease'
  | 'updateSiemConnector'
  | 'updateRetention'
type Body<K extends Changing> = Input<Contract[K]>['body']
type Sections<T> = { readonly [K in keyof T]?: Readonly<Partial<T[K]>> }
type Scope = Pick<CallInput<Contract['getSecuritySettings']>, 'query'>

/** Merges values into an object. A named section keeps its fields that are not named. */
export function overlay<T extends object>(whole: T, named: Sections<T>): T {
  const under = new Map<string, object>(Object.entries(whole))
  const over = Object.entries<object | undefined>(named)
  return { ...whole, ...Object.fromEntries(over.map(([k, fields]) => [k, { ...under.get(k), ...fields }])) }
}

/** Changes the named settings; the others stay. */
export const changeSecuritySettings = (
  client: Client,
  named: Sections<Body<'updateSecuritySettings'>>,
  scope?: Scope,
) =>
  change(
    () => client.getSecuritySettings(scope),
    (whole, options) => client.updateSecuritySettings({ ...scope, body: overlay(whole, named) }, options),
  )

/** Changes the named install lines and download addresses; the others stay. */
export const changeEnrollmentSettings = (
  client: Client,
  named: Sections<Body<'updateEnrollmentSettings'>>,
  scope?: Scope,
) =>
  change(
    () => client.getEnrollmentSettings(scope),
    (whole, options) =>
      client.updateEnrollmentSettings(
        { ...scope, body: overlay<Body<'updateEnrollmentSettings'>>(whole, named) },
        options,
      ),
  )

/** Changes the retention in days of the named classes, or returns the effect of that (`dry_run`); the others stay. */
export const changeRetention = (
  client: Client,
  named: Partial<Body<'updateRetention'>['days']>,
  { dry_run = false, ...scope }: Scope & { dry_run?: boolean } = {},
) =>
  change(
    () => client.getRetention(scope),
    ({ days }, options) =>
      client.updateRetention({ ...scope, body: { days: { ...days, ...named }, dry_run } }, options),
  )

/** Changes the named settings; the others stay. */
export const changeNotificationSettings = (
  client: Client,
  named: Sections<Body<'updateNotificationSettings'>>,
  scope?: Scope,
) =>
  change(
    () => client.getNotificationSettings(scope),
    (whole, options) =>
      client.updateNotificationSettings(
        { ...scope, body: overlay<Body<'updateNotificationSettings'>>(whole, named) },
        options,
      ),
  )

/** Changes the named fields of a pool; the others stay. */
export const changeGatewayPool = (
  client: Client,
  of: CallInput<Contract['getGatewayPool']>,
  named: Partial<Body<'updateGatewayPool'>>,
) =>
  change(
    () => client.getGatewayPool(of),
    (whole, options) => client.updateGatewayPool({ ...of, body: { ...whole, ...named } }, options),
  )

/** Changes the named fields of an identity provider, also within `oidc` and `saml`; the others stay. */
export const changeIdentityProvider = (
  client: Client,
  { query, ...of }: Pick<CallInput<Contract['updateIdentityProvider']>, 'params' | 'query'>,
  {
    oidc,
    saml,
    ...named
  }: Partial<Omit<Body<'updateIdentityProvider'>, 'oidc' | 'saml'>> & {
    oidc?: Partial<NonNullable<Body<'updateIdentityProvider'>['oidc']>>
    saml?: Partial<NonNullable<Body<'updateIdentityProvider'>['saml']>>
  },
) =>
  change(
    () => client.getIdentityProvider({ ...of, ...(query?.tenant_id && { query: { tenant_id: query.tenant_id } }) }),
    (whole, options) => {
      const body = {
        ...whole,
        ...named,
        oidc: whole.oidc && { ...whole.oidc, ...oidc },
        saml: whole.saml && { ...whole.saml, ...saml },
      }
      return client.updateIdentityProvider({ ...of, ...(query && { query }), body }, options)
    },
  )

/** Changes the named fields of a directory source; the others stay. */
export const changeDirectorySource = (
  client: Client,
  of: CallInput<Contract['getDirectorySource']>,
  named: Partial<Body<'updateDirectorySource'>>,
) =>
  change(
    () => client.getDirectorySource(of),
    (whole, options) => client.updateDirectorySource({ ...of, body: { ...whole, ...named } }, options),
  )

/** Changes the named fields of a SIEM connector, also within `tls`; the others stay. */
export const changeSiemConnector = (
  client: Client,
  of: CallInput<Contract['getSiemConnector']>,
  {
    tls,
    ...named
  }: Partial<Omit<Body<'updateSiemConnector'>, 'tls'>> & Sections<Pick<Body<'updateSiemConnector'>, 'tls'>>,
) =>
  change(
    () => client.getSiemConnector(of),
    (whole, options) =>
      client.updateSiemConnector({ ...of, body: { ...whole, ...named, tls: { ...whole.tls, ...tls } } }, options),
  )

/** Changes the named fields of a gateway; the others stay. */
export const changeGateway = (
  client: Client,
  of: CallInput<Contract['getGateway']>,
  named: Partial<Body<'updateGateway'>>,
) =>
  change(
    () => client.getGateway(of),
    (whole, options) => client.updateGateway({ ...of, body: { ...whole, ...named } }, options),
  )

/** Changes the named fields of a plan, also within `limits`; the others stay. */
export const changePlan = (
  client: Client,
  of: CallInput<Contract['getPlan']>,
  { limits, ...named }: Partial<Body<'updatePlan'>>,
) =>
  change(
    () => client.getPlan(of),
    (whole, options) =>
      client.updatePlan({ ...of, body: { ...whole, ...named, limits: { ...whole.limits, ...limits } } }, options),
  )

/** Changes the named fields of a saved view; the others stay. */
export const changeView = (client: Client, of: CallInput<Contract['getView']>, named: Partial<Body<'updateView'>>) =>
  change(
    () => client.getView(of),
    (whole, options) => client.updateView({ ...of, body: { ...whole, ...named } }, options),
  )

/** Changes the named fields of a draft; the others stay. */
export const changeDraft = (
  client: Client,
  of: CallInput<Contract['getRelease']>,
  named: Partial<Body<'updateRelease'>>,
) =>
  change(
    () => client.getRelease(of),
    (whole, options) => client.updateRelease({ ...of, body: { ...whole, ...named } }, options),
  )
