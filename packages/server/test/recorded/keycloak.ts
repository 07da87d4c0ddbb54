import { readFileSync, writeFileSync } from 'node:fs'
import { send } from '../support/clients/raw-http.ts'

const file = new URL('keycloak.json', import.meta.url)

type Answered = { asked: string; status: number; json: unknown }
/**
 * Recorded answers of a Keycloak 26.2.5: those to reads of its directory, and the tokens and the SAML response that it
 * signed for anna.
 */
export type Recorded = {
  at: string
  directory: Answered[]
  oidc: {
    issuer: string
    client_id: string
    nonce: string
    /** Its metadata and its keys, by URL. */
    documents: Record<string, unknown>
    id_token: string
    logout_token: string
  }
  saml: { metadata: string; entity_id: string; acs_url: string; request_id: string; response: string }
}

export const readRecorded = (): Recorded => JSON.parse(readFileSync(file, 'utf8'))
export const writeRecorded = (recorded: Recorded): void => writeFileSync(file, `${JSON.stringify(recorded, null, 2)}\n`)

/**
 * Further users of the realm, all in /staff; anna is in /staff/admins and ben in /staff. `teams` are the groups in
 * /staff.
 */
export const staff = ['cleo', 'dan', 'eva']
export const teams = ['backend', 'on call']

/** Sends every request of a pull, and requests that must be refused. Ids are numbered in order of appearance. */
export async function askDirectory(issuer: string, client: { id: string; secret: string }): Promise<Answered[]> {
  const answers: Answered[] = []
  const ids = new Map<string, string>()
  const named = (text: string) =>
    text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
      const name = ids.get(id) ?? `id ${ids.size + 1}`
      ids.set(id, name)
      return name
    })
  async function ask(asked: string, sent: Parameters<typeof send>[1]) {
    const got = await send(issuer, sent)
    const text = (JSON.stringify(got.json) ?? 'null')
      .replaceAll(/"createdTimestamp":\d+/g, '"createdTimestamp":0')
      .replace(/"access_token":"[^"]+"/, '"access_token":"…"')
    answers.push({ asked: named(asked), status: got.status, json: JSON.parse(named(text)) })
    return got.json
  }
  const path = `${new URL(issuer).pathname}/protocol/openid-connect/token`
  const askToken = (asked: string, client_secret: string) =>
    ask(asked, {
      method: 'POST',
      path,
      form: { grant_type: 'client_credentials', client_id: client.id, client_secret },
    })
  await askToken('a token with another secret', `not ${client.secret}`)
  const authorization = `Bearer ${(await askToken('a token', client.secret)).access_token}`
  const base = new URL(issuer).pathname.replace('/realms/', '/admin/realms/')
  const get = (asked: string, headers: Record<string, string> = { authorization }) =>
    ask(asked, { path: `${base}/${asked.replaceAll(' ', '%20')}`, headers })

  await get('users/count', {})
  await get('users/count', { authorization: 'Bearer invented' })
  await get('users/count')
  await get('users?briefRepresentation=false&first=0&max=3')
  await get('users?briefRepresentation=false&first=2&max=100')
  await get('users?briefRepresentation=true&first=0&max=5')
  await get('groups/count')
  const [{ id }] = await get('groups?briefRepresentation=true&first=0&max=100')
  await get(`groups/${id}/children?briefRepresentation=true&first=0&max=2`)
  await get(`groups/${id}/children?briefRepresentation=true&first=1&max=100`)
  await get(`groups/${id}/members?briefRepresentation=true&first=0&max=3`)
  await get(`groups/${id}/members?briefRepresentation=true&first=2&max=100`)
  await get('groups/00000000-0000-4000-8000-000000000000/members?briefRepresentation=true&first=0&max=3')
  return answers
}
