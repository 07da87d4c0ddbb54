import { idPrefixes, type Noun } from '@holdfast/contract/vocabulary'
import { ApiError, type Client } from '@holdfast/sdk'
import { NotFoundError, UsageError } from './exit.ts'
import { type Candidate, having, type Search, sameName, searches } from './names-searches.ts'
import { walk } from './pages.ts'
import { plain } from './text.ts'

type Asked = { side: 'actor' | 'target'; type: string | undefined; scope: object }

const isId = (text: string) => Object.values(idPrefixes).some((prefix) => text.startsWith(`${prefix}_`))
/** Nouns with names of their own. Events name sessions and certificates by id. */
const named = (Object.entries(searches) as [Noun, Search][]).filter(([, { by }]) => by === undefined)
/** In the audit log a signed-in user has the type `session`. */
const nounOf = (type: string) => (type === 'session' ? 'user' : type)
const pagesOfLog = 5

/**
 * Returns the id of an actor or target of events. Present things with the name come first, then those that only the
 * audit log contains, such as a deleted user.
 */
export async function partyNamed(client: Client, name: string, { side, type, scope }: Asked): Promise<string> {
  if (isId(name)) return name
  const asked = named.filter(([noun]) => type === undefined || noun === nounOf(type))
  const now = await Promise.all(
    asked.map(async ([noun, { find }]) =>
      (await visible(name, find(client, name, scope))).map(({ id }) => ({ id, noun })),
    ),
  )
  const there = now.flat()
  const found = there.length > 0 ? there : await inLog(client, name, { side, type, scope })
  const [first, second] = found
  if (first === undefined)
    throw new NotFoundError(
      `There is no ${side} called ${plain(name)}. To find events that contain this text, run: holdfast audit list --text ${JSON.stringify(name)}`,
    )
  if (second === undefined) return first.id
  throw new UsageError(
    `${found.length} things are called ${plain(name)}. Name one by its id: ${found.map(({ id, noun }) => `${id} (${plain(noun.replaceAll('_', ' '))})`).join(', ')}.`,
  )
}

/** Returns no matches for a list that the caller may not read. */
async function visible(name: string, candidates: AsyncIterable<Candidate>): Promise<Candidate[]> {
  try {
    return await having(name, candidates)
  } catch (e) {
    if (e instanceof ApiError && e.code === 'forbidden') return []
    throw e
  }
}

async function inLog(client: Client, name: string, { side, type, scope }: Asked) {
  const found = new Map<string, string>()
  const events = walk(
    (page) => client.listAuditEvents({ query: { q: name, ...page, ...scope } }),
    (event) => event[side],
    pagesOfLog,
  )
  for await (const party of events)
    if (party?.id && party.name !== null && sameName(party.name, name) && (type === undefined || party.type === type))
      found.set(party.id, nounOf(party.type))
  const parties = [...found].map(([id, noun]) => ({ id, noun }))
  // A session has the name of its user, so it counts only if nothing else has the name.
  const own = parties.filter(({ noun }) => searches[noun as Noun]?.by === undefined)
  return own.length > 0 ? own : parties
}
