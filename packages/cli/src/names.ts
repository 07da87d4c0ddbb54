import { contract, type Endpoint, type Operation, operations } from '@holdfast/contract'
import { Id } from '@holdfast/contract/schema'
import { aOrAn, idPrefixes, type Noun, spoken } from '@holdfast/contract/vocabulary'
import type { Client } from '@holdfast/sdk'
import { NotFoundError, UsageError } from './exit.ts'
import { partyNamed } from './names-of-parties.ts'
import { type Candidate, having, listedBy, searches } from './names-searches.ts'
import { plain } from './text.ts'

/** The parts of a JSON schema that lead to its ids. */
type Schema = {
  title?: string
  type?: string
  anyOf?: readonly Schema[]
  items?: Schema
  properties?: Readonly<Record<string, Schema>>
}

const nouns = Object.keys(idPrefixes) as Noun[]
const nounOfTitle = new Map(nouns.map((noun) => [(Id(noun) as Schema).title, noun]))
/** The pipeline reads it from the query of every operation. The contract declares it for none. */
const scopeQuery: Schema = { properties: { tenant_id: Id('tenant') as Schema } }

const inputOf = ({ params, query, body }: Endpoint) => {
  const parts = { params, query, body } as Readonly<Record<string, Schema | undefined>>
  return (part: string): Schema[] => [...(parts[part] ? [parts[part]] : []), ...(part === 'query' ? [scopeQuery] : [])]
}

const alternatives = (schemas: readonly Schema[]): Schema[] =>
  schemas.flatMap((schema) => (schema.anyOf ? alternatives(schema.anyOf) : [schema]))

const nounByTitle = ({ title }: Schema): Noun | undefined => nounOfTitle.get(title)

/** Yields every id of a schema: its field name and its noun. */
function* idsIn(schema: Schema, field: string, nounOf: typeof nounIn = nounByTitle): Generator<[string, Noun]> {
  const noun = nounOf(schema, field)
  if (noun) yield [field, noun]
  for (const one of schema.anyOf ?? []) yield* idsIn(one, field, nounOf)
  if (schema.items) yield* idsIn(schema.items, field, nounOf)
  for (const [name, inner] of Object.entries(schema.properties ?? {})) yield* idsIn(inner, name, nounOf)
}

/** Nouns by field name: for parameters of workflows, and for the few ids with a schema of their own. */
const nounOfField: ReadonlyMap<string, Noun> = (() => {
  const found = new Map<string, Set<Noun>>()
  for (const [, endpoint] of operations)
    for (const part of ['params', 'query', 'body'])
      for (const schema of inputOf(endpoint)(part))
        for (const [field, noun] of idsIn(schema, part)) found.set(field, (found.get(field) ?? new Set()).add(noun))
  const plainly = [...found].filter(([field, of]) => /_ids?$/.test(field) && of.size === 1)
  return new Map(plainly.map(([field, of]) => [field, [...of][0]!]))
})()

const nounIn = (schema: Schema, field: string): Noun | undefined =>
  nounByTitle(schema) ?? (schema.type === 'string' ? nounOfField.get(field) : undefined)

const withIds = new WeakMap<Schema, boolean>()
/** Large bodies without any id are skipped. */
function hasIds(schema: Schema, field: string): boolean {
  const known = withIds.get(schema) ?? !idsIn(schema, field, nounIn).next().done
  // Other schemas may be shared by several fields.
  if (schema.properties) withIds.set(schema, known)
  return known
}

type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(Symbol.asyncIterator in value)

/** Replaces each value of an object. */
async function mapFields(fields: Fields, change: (value: unknown, name: string) => unknown): Promise<Fields> {
  const entries = Object.entries(fields).map(async ([name, value]) => [name, await change(value, name)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/**
 * Returns a client that accepts names for ids: `jane` for a user, `12` or `stable` for a policy version. The contract's
 * schemas define the positions and nouns of ids. A value in the form of an id is sent unchanged.
 */
export function withNames(client: Client, scope: () => { tenant_id?: string }): Client {
  const known = new Map<string, Promise<string>>()
  const remember = (key: string, find: () => Promise<string>): Promise<string> => {
    const found = known.get(key) ?? find()
    known.set(key, found)
    // A repetition may succeed.
    found.catch(() => known.delete(key))
    return found
  }
  const idOf = (noun: Noun, text: string): string | Promise<string> =>
    text.startsWith(`${idPrefixes[noun]}_`) ? text : remember(`${noun} ${text}`, () => lookUp(noun, text))

  // A tenant is looked up among all tenants, since it may be the scope itself.
  const scopeFor = async (noun?: Noun): Promise<object> => {
    const { tenant_id } = scope()
    return noun === 'tenant' || tenant_id === undefined ? {} : { tenant_id: await idOf('tenant', tenant_id) }
  }
  const lookUp = async (noun: Noun, text: string): Promise<string> => {
    const { find, by = 'called', word = spoken(noun) } = searches[noun] ?? refuseNameless(noun, text)
    const other = nouns.find((one) => new RegExp(`^${idPrefixes[one]}_[0-9a-z]{26}$`).test(text))
    if (other) throw new NotFoundError(`${text} is the id of ${aOrAn(other)}; this takes ${aOrAn(noun)}.`)
    const fits = await having(text, find(client, text, await scopeFor(noun)))
    return onlyOne(fits, word, `${by} ${plain(text)}`)
  }

  const resolve = async (value: unknown, schemas: readonly Schema[], field: string): Promise<unknown> => {
    const all = alternatives(schemas).filter((schema) => hasIds(schema, field))
    if (all.length === 0) return value
    if (Array.isArray(value)) {
      const items = all.flatMap((schema) => schema.items ?? [])
      return Promise.all(value.map((each) => resolve(each, items, field)))
    }
    if (isFields(value)) {
      const fieldsOf = (name: string) => all.flatMap((schema) => schema.properties?.[name] ?? [])
      return mapFields(value, (inner, name) => resolve(inner, fieldsOf(name), name))
    }
    const noun = all.map((schema) => nounIn(schema, field)).find((one) => one !== undefined)
    return noun && typeof value === 'string' ? idOf(noun, value) : value
  }

  /** Ids with their noun in another field, or given by the field's name. */
  const special: Record<string, (part: Fields) => Promise<Fields>> = {
    query: async (query) => {
      const party = (side: 'actor' | 'target') => async (value: string) => {
        const type = textOf(query[`${side}_type`])
        return remember(`${side} ${type} ${value}`, async () =>
          partyNamed(client, value, { side, type, scope: await scopeFor() }),
        )
      }
      const { actor_id: actor, target_id: target } = query
      return {
        ...query,
        ...(typeof actor === 'string' && { actor_id: await party('actor')(actor) }),
        ...(typeof target === 'string' && { target_id: await party('target')(target) }),
      }
    },
    body: async (body) => {
      const { target, params } = body
      const { type, id } = (isFields(target) ? target : {}) as { type?: Noun; id?: string }
      return {
        ...body,
        ...(type && id !== undefined && { target: { type, id: await idOf(type, id) } }),
        ...(isFields(params) && {
          params: await mapFields(params, (value, name) => {
            const noun = nounOfField.get(name)
            return noun && typeof value === 'string' ? idOf(noun, value) : value
          }),
        }),
      }
    },
  }

  type Call = (input?: unknown, options?: unknown) => unknown
  const named = (Object.entries(client) as [Operation, Call][]).map(([operation, call]) => {
    const schemasOf = inputOf(contract[operation])
    const resolved = async (value: unknown, part: string) => {
      const found = await resolve(value, schemasOf(part), part)
      return isFields(found) && special[part] ? special[part](found) : found
    }
    return [
      operation,
      async (input?: unknown, options?: unknown) =>
        call(isFields(input) ? await mapFields(input, resolved) : input, options),
    ]
  })
  return Object.fromEntries(named) as Client
}

function refuseNameless(noun: Noun, text: string): never {
  const list = listedBy[noun]
  throw new NotFoundError(
    `${plain(text)} is not the id of ${aOrAn(noun)}, which looks like ${idPrefixes[noun]}_…${list ? `; find it with: holdfast ${list}` : ''}`,
  )
}

/** Returns the id of the only match. */
function onlyOne(fits: readonly Candidate[], noun: string, called: string): string {
  const [first, second] = fits
  if (first === undefined) throw new NotFoundError(`There is no ${noun} ${called}.`)
  if (second === undefined) return first.id
  const ids = fits.slice(0, 5).map(({ id }) => id)
  const more = fits.length > ids.length ? ` and ${fits.length - ids.length} more` : ''
  throw new UsageError(`There are ${fits.length} ${noun}s ${called}. Name one by its id: ${ids.join(', ')}${more}.`)
}
