import { createPrivateKey, type KeyObject, randomUUID } from 'node:crypto'
import { type Ask, answerFields, idIn, listOf, wordsIn } from './asking.ts'
import { type DirectoryPage, directoryText, isWanted, type PulledUser } from './pages.ts'
import { PullError } from './pull-error.ts'
import type { At, DirectoryAccess, PullStep, Vendor } from './vendor.ts'

/** `url`: address of the next page. `group`: index in the groups read so far. */
type Cursor = { phase: 'users' | 'groups' | 'members'; url: string | null; group: number }

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** States of users who may sign in, now or after setting a password. */
const active = ['ACTIVE', 'STAGED', 'PROVISIONED', 'RECOVERY', 'PASSWORD_EXPIRED', 'LOCKED_OUT']

/** Lists of Okta, in which each page links to the next. Deprovisioned users are not listed. */
export function createOkta(issuerProblem: Vendor['problemOf']): Vendor {
  const at = (issuer: string, path: string) => `${new URL(issuer).origin}/api/v1/${path}`

  async function step(ask: Ask, { issuer }: Pick<DirectoryAccess, 'issuer'>, state: At): Promise<PullStep> {
    const cursor = state.cursor as Cursor
    const { take, seen, progress } = state
    const list = async (url: string, what: string) => {
      const { json, headers } = await ask(cursor.url ?? url, what)
      return { entries: listOf(json, what).map(answerFields), next: nextIn(headers.link) }
    }
    progress.phase = cursor.phase
    if (cursor.phase === 'users') {
      const { entries, next } = await list(at(issuer, 'users?limit=200'), 'Users')
      const page: DirectoryPage = { users: entries.map(userOf) }
      if (next !== null) return { page, cursor: { ...cursor, url: next } }
      return { page, cursor: take.take_groups === 'none' ? null : { phase: 'groups', url: null, group: 0 } }
    }
    if (cursor.phase === 'groups') {
      const { entries, next } = await list(at(issuer, 'groups?limit=200'), 'Groups')
      // Okta's built-in group contains every user.
      const groups = entries.filter(({ type }) => type !== 'BUILT_IN').map(groupOf)
      return {
        page: { groups },
        cursor: next === null ? { phase: 'members', url: null, group: 0 } : { ...cursor, url: next },
      }
    }
    let { group } = cursor
    while (group < seen.groups.length && !isWanted(take, seen.groups[group]?.name ?? '')) group++
    const found = seen.groups[group]
    if (!found) return { page: {}, cursor: null }
    const path = `groups/${encodeURIComponent(found.id)}/users?limit=200`
    const { entries, next } = await list(at(issuer, path), 'Members of groups')
    const page: DirectoryPage = {
      members: [{ group: found.id, add: entries.map((m) => idIn(m, 'Members of groups')) }],
    }
    return { page, cursor: { phase: 'members', url: next, group: next === null ? group + 1 : group } }
  }

  return {
    problemOf: (issuer) =>
      issuerProblem(issuer) ??
      (new URL(issuer).pathname === '/'
        ? undefined
        : 'The issuer must be that of the organisation, without a path: https://{organisation}.'),
    originOf: (issuer) => new URL(issuer).origin,
    tokenOf: async ({ issuer, clientId, credential }) => {
      const url = `${new URL(issuer).origin}/oauth2/v1/token`
      return {
        url,
        form: {
          grant_type: 'client_credentials',
          scope: 'okta.users.read okta.groups.read',
          client_assertion_type: assertionType,
          client_assertion: await assertion(clientId, credential, url),
        },
      }
    },
    begin: (): Cursor => ({ phase: 'users', url: null, group: 0 }),
    step,
    look: async (ask, { issuer }) => {
      const { json } = await ask(at(issuer, 'users?limit=5'), 'Users')
      await ask(at(issuer, 'groups?limit=1'), 'Groups')
      const some = listOf(json, 'Users').map((u) => userOf(answerFields(u)).userName)
      return { users: null, groups: null, some_users: some }
    },
  }
}

/** Parses the private key of a client: a JWK or PEM. */
export function clientKeyOf(
  credential: string,
): { key: KeyObject; alg: 'RS256' | 'ES256'; kid: string | undefined } | undefined {
  try {
    const jwk = credential.trimStart().startsWith('{') ? JSON.parse(credential) : undefined
    const key = createPrivateKey(jwk ? { key: jwk, format: 'jwk' } : credential)
    const kid = wordsIn(jwk?.kid)
    if (key.asymmetricKeyType === 'rsa') return { key, alg: 'RS256', kid }
    const isP256 = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
    return isP256 ? { key, alg: 'ES256', kid } : undefined
  } catch {
    return undefined
  }
}

/** Client assertion of RFC 7523, valid for a minute. */
async function assertion(clientId: string, credential: string, audience: string): Promise<string> {
  const { SignJWT } = await import('jose')
  const found = clientKeyOf(credential)
  if (!found) throw new PullError('credential', 'The private key of the client cannot be read.')
  return new SignJWT()
    .setProtectedHeader({ alg: found.alg, ...(found.kid !== undefined && { kid: found.kid }) })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(audience)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('60s')
    .sign(found.key)
}

/** URL of the next page in the `Link` headers (RFC 8288). */
function nextIn(header: unknown): string | null {
  for (const line of [header].flat())
    if (typeof line === 'string')
      for (const [, url = '', parameters = ''] of line.matchAll(/<([^<>]*)>((?:\s*;\s*[^,;<>]+)*)/g))
        if (/;\s*rel\s*=\s*"?next"?\s*(?:;|$)/i.test(parameters)) return url
  return null
}

function userOf(entry: Readonly<Record<string, unknown>>): PulledUser {
  const profile = answerFields(entry.profile)
  const names = [wordsIn(profile.firstName), wordsIn(profile.lastName)].filter(Boolean).join(' ')
  const email = wordsIn(profile.email)
  return {
    id: idIn(entry, 'Users'),
    userName: directoryText(wordsIn(profile.login) ?? '', 256),
    displayName: directoryText(wordsIn(profile.displayName) || names, 256),
    email: email ? directoryText(email, 254) : null,
    active: active.includes(wordsIn(entry.status) ?? ''),
  }
}

const groupOf = (entry: Readonly<Record<string, unknown>>) => ({
  id: idIn(entry, 'Groups'),
  name: directoryText(wordsIn(answerFields(entry.profile).name) ?? '', 256),
})
