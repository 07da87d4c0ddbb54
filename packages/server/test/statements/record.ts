import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { DefaultQueryExecutor } from 'kysely'
import pg from 'pg'

/**
 * The statements that a test run's servers send to PostgreSQL, for `judge.ts`. A statement is recorded once for each
 * place in the sources and each scope. Imported by the kit; active only if scripts/test.mjs has set a folder.
 */
export type Sent = { text: string; origin: string; scope: 'tenant' | 'all' | 'none' }
/** The statements of a transaction in order, if it has more than one. Immediate repetitions count once. */
export type Course = { course: string[] }

const directory = process.env.HOLDFAST_TEST_STATEMENTS
const server = new URL('../../', import.meta.url).href

if (directory) {
  const file = join(directory, `${process.pid}.jsonl`)
  /** Keyed by the text, or by the numbers of the texts of a course. */
  const written = new Map<string, Set<string>>()
  const numbers = new Map<string, number>()
  const origins = new Map<string, Set<string>>()
  const scopes = new WeakMap<object, Sent['scope']>()

  const courses = new WeakMap<object, string[]>()

  const write = (text: string, how: string, make: () => Sent | Course) => {
    const ways = written.get(text) ?? new Set()
    if (ways.has(how)) return
    written.set(text, ways.add(how))
    appendFileSync(file, `${JSON.stringify(make())}\n`)
  }
  const numberOf = (text: string): number => {
    const number = numbers.get(text) ?? numbers.size
    numbers.set(text, number)
    return number
  }

  // Kysely compiles a statement within the call of `execute`, so the stack still shows the caller.
  const { compileQuery } = DefaultQueryExecutor.prototype
  DefaultQueryExecutor.prototype.compileQuery = function (...given) {
    const compiled = compileQuery.apply(this, given)
    const origin = originOf(callers(nearby)) ?? originOf(callers())
    if (origin) origins.set(compiled.sql, (origins.get(compiled.sql) ?? new Set()).add(origin))
    return compiled
  }

  // The driver sees every statement, with its scope.
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
    const [first, second] = given as readonly unknown[]
    const text = typeof first === 'string' ? first : (first as { text?: string } | undefined)?.text
    if (text) {
      const named = /holdfast\.tenant/.test(text) && `${text} ${JSON.stringify(second ?? [])}`
      if (named) {
        scopes.set(this, /(?:'|")\*(?:'|")/.test(named) ? 'all' : 'tenant')
        if (/^begin\b/.test(text)) courses.set(this, [])
      } else if (/^(?:commit|rollback)\b/i.test(text)) {
        scopes.delete(this)
        const course = courses.get(this) ?? []
        courses.delete(this)
        if (course.length > 1) write(course.map(numberOf).join(), '', () => ({ course }))
      } else {
        const scope = scopes.get(this) ?? 'none'
        const from = origins.get(text) ?? directly(callers())
        for (const origin of from) write(text, `${origin} ${scope}`, () => ({ text, origin, scope }))
        const course = courses.get(this)
        if (from.size > 0 && course && course.at(-1) !== text) course.push(text)
      }
    }
    return Reflect.apply(query, this, given)
  } as typeof query
}

/** Most callers are within this number of stack frames; each further frame costs time. */
const nearby = 12

/**
 * The stack frames of the caller, innermost first. The stack's text is not formatted: that would cost more than all
 * other work for a statement.
 */
function callers(most = 40): NodeJS.CallSite[] {
  const { stackTraceLimit, prepareStackTrace } = Error
  Error.stackTraceLimit = most
  Error.prepareStackTrace = (_, sites) => sites
  const sites = new Error().stack as unknown as NodeJS.CallSite[]
  Object.assign(Error, { stackTraceLimit, prepareStackTrace })
  return sites
}

/** The origin of a statement that did not come through Kysely. */
function directly(sites: NodeJS.CallSite[]): Set<string> {
  const origin = sites.some((site) => site.getFileName()?.includes('/kysely/')) ? undefined : originOf(sites)
  return new Set(origin ? [origin] : [])
}

/**
 * `file#function` of the innermost caller in our sources that does not merely pass statements on. Undefined if that is
 * a test or a migration.
 */
function originOf(sites: NodeJS.CallSite[]): string | undefined {
  for (const site of sites) {
    const file = site.getFileName() ?? ''
    if (/src\/db\/migrate\.ts$/.test(file)) return undefined
    if (
      !file.startsWith(server) ||
      /test\/statements\/record\.ts|src\/db\/(?:page|database|connection|affected-row|lease)\.ts/.test(file)
    )
      continue
    const place = file.slice(server.length)
    if (!place.startsWith('src/') || place.startsWith('src/embedded/')) return undefined
    return `${place.slice(4).replace(/^modules\//, '')}${nameOf(site)}`
  }
  return undefined
}

/** A method of a plain object is named by its own name alone. */
function nameOf(site: NodeJS.CallSite): string {
  const name = site.getFunctionName()
  const type = site.isToplevel() || site.isConstructor() ? null : site.getTypeName()
  if (!name) return ''
  return `#${type && !/^(?:Object|Module)$/.test(type) && !name.startsWith(`${type}.`) ? `${type}.` : ''}${name}`
}
