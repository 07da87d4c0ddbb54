import { entraTenantOf } from '../../federation/index.ts'
import { type Ask, answerFields, idIn, listOf, wordsIn } from './asking.ts'
import { type DirectoryPage, directoryText, type PulledUser } from './pages.ts'
import { PullError } from './pull-error.ts'
import type { At, DirectoryAccess, PullStep, Vendor } from './vendor.ts'

/** `url`: address of the next page. `users`: delta link of the users, once they are read. */
type Cursor = { what: 'users' | 'groups'; url: string; users: string | null; after: string; changes: boolean }

/** Hosts of each Microsoft cloud: sign-in, and Microsoft Graph. */
const graphOf: Readonly<Record<string, string>> = {
  'login.microsoftonline.com': 'https://graph.microsoft.com',
  'login.microsoftonline.us': 'https://graph.microsoft.us',
  'login.partner.microsoftonline.cn': 'https://microsoftgraph.chinacloudapi.cn',
}
const graphAt = (issuer: string): string => graphOf[new URL(issuer).host] ?? ''
const userFields = 'id,userPrincipalName,displayName,mail,accountEnabled,userType'
const listNames = { users: 'Users', groups: 'Groups' } as const

/**
 * Delta queries of Microsoft Graph: all pages once, then only changes. Groups inside a group contribute all their
 * members, as in the groups claim of Entra ID.
 */
export function createEntra(problemOf: Vendor['problemOf']): Vendor {
  async function step(
    ask: Ask,
    _place: Pick<DirectoryAccess, 'issuer'>,
    { cursor: at, take, progress }: At,
  ): Promise<PullStep> {
    const cursor = at as Cursor
    const what = listNames[cursor.what]
    const { json } = await ask(cursor.url, what, { prefer: 'odata.maxpagesize=999' })
    const answer = answerFields(json)
    const entries = listOf(answer.value, what).map(answerFields)
    const page = cursor.what === 'users' ? pageOfUsers(entries) : pageOfGroups(entries)
    progress.phase = cursor.changes ? 'changes' : cursor.what
    const [next, delta] = [wordsIn(answer['@odata.nextLink']), wordsIn(answer['@odata.deltaLink'])]
    if (next !== undefined) return { page, cursor: { ...cursor, url: next } }
    if (delta === undefined) throw new PullError('answer', `${what}: the last page has no link for later changes.`)
    if (cursor.what === 'groups') return { page, cursor: null, links: { users: cursor.users ?? '', groups: delta } }
    if (take.take_groups === 'none') return { page, cursor: null, links: { users: delta, groups: cursor.after } }
    return { page, cursor: { ...cursor, what: 'groups', url: cursor.after, users: delta } }
  }

  return {
    problemOf,
    originOf: graphAt,
    tokenOf: ({ issuer, clientId, credential }) => ({
      url: `${new URL(issuer).origin}/${entraTenantOf(issuer) ?? ''}/oauth2/v2.0/token`,
      form: {
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: credential,
        scope: `${graphAt(issuer)}/.default`,
      },
    }),
    begin: ({ issuer }, links): Cursor => ({
      what: 'users',
      url: links?.users ?? `${graphAt(issuer)}/v1.0/users/delta?$select=${userFields}`,
      after: links?.groups ?? `${graphAt(issuer)}/v1.0/groups/delta?$select=id,displayName,members`,
      users: null,
      changes: links !== undefined,
    }),
    step,
    look: async (ask, { issuer }) => {
      const count = async (path: string, what: string) =>
        answerFields(
          (await ask(`${graphAt(issuer)}/v1.0/${path}&$count=true`, what, { consistencylevel: 'eventual' })).json,
        )
      const users = await count('users?$top=5&$select=id,userPrincipalName', 'Users')
      const groups = await count('groups?$top=1&$select=id', 'Groups')
      const of = ({ '@odata.count': n }: Readonly<Record<string, unknown>>) => (typeof n === 'number' ? n : null)
      const some = listOf(users.value, 'Users').map((u) => wordsIn(answerFields(u).userPrincipalName) ?? '')
      return { users: of(users), groups: of(groups), some_users: some }
    },
  }
}

/** Guests belong to another directory and are left out. */
function pageOfUsers(entries: readonly Readonly<Record<string, unknown>>[]): DirectoryPage {
  const users: (Partial<PulledUser> & { id: string })[] = []
  const goneUsers: string[] = []
  for (const entry of entries) {
    const id = idIn(entry, 'Users')
    if (entry['@removed'] !== undefined || entry.userType === 'Guest') goneUsers.push(id)
    else users.push(userOf(id, entry))
  }
  return { users, goneUsers }
}

/** A change names at least the modified fields. The others stay. */
function userOf(id: string, entry: Readonly<Record<string, unknown>>): Partial<PulledUser> & { id: string } {
  const { userPrincipalName, displayName, mail, accountEnabled } = entry
  return {
    id,
    ...(typeof userPrincipalName === 'string' && { userName: directoryText(userPrincipalName, 256) }),
    ...(displayName !== undefined && { displayName: directoryText(wordsIn(displayName) ?? '', 256) }),
    ...(mail !== undefined && { email: typeof mail === 'string' && mail !== '' ? directoryText(mail, 254) : null }),
    ...(accountEnabled !== undefined && { active: accountEnabled === true }),
  }
}

function pageOfGroups(entries: readonly Readonly<Record<string, unknown>>[]): DirectoryPage {
  const groups: { id: string; name: string | null }[] = []
  const goneGroups: string[] = []
  const members: NonNullable<DirectoryPage['members']> = []
  for (const entry of entries) {
    const id = idIn(entry, 'Groups')
    if (entry['@removed'] !== undefined) {
      goneGroups.push(id)
      continue
    }
    const name = wordsIn(entry.displayName)
    groups.push({ id, name: name === undefined ? null : directoryText(name, 256) })
    const moves = { group: id, add: [], remove: [], nest: [], unnest: [] } as Required<(typeof members)[number]>
    for (const member of listOf(entry['members@delta'] ?? [], 'Members of groups').map(answerFields)) {
      const type = member['@odata.type']
      const isGone = member['@removed'] !== undefined
      const whom = idIn(member, 'Members of groups')
      if (type === '#microsoft.graph.group') (isGone ? moves.unnest : moves.nest).push(whom)
      else if (type === '#microsoft.graph.user' || type === undefined) (isGone ? moves.remove : moves.add).push(whom)
    }
    if (moves.add.length + moves.remove.length + moves.nest.length + moves.unnest.length > 0) members.push(moves)
  }
  return { groups, goneGroups, members }
}
