import type { Operation } from '@holdfast/contract'
import type { Actor, Caller } from '../../kernel/actor.ts'
import type { AppError } from '../../kernel/app-error.ts'
import type { HtmlPageAnswer } from '../answer/html-page.ts'

/** Data of a request for a page. */
export type Visit = {
  /** Path and query. */
  url: string
  query: URLSearchParams
  params: Readonly<Record<string, string>>
  /** Returns the value of a cookie that was sent once. */
  cookies: (name: string) => string | undefined
  caller: Caller
}
/** Pages by path. They are outside the contract, since people use them and not clients. */
export type Pages = Readonly<Record<`/${string}`, (visit: Visit) => HtmlPageAnswer | Promise<HtmlPageAnswer>>>

/** Fields of a posted form, each given once. */
type Posted = Visit & { form: Readonly<Record<string, string>> }
/**
 * Handlers of forms that pages of other sites may post. A handler that depends on the origin must check `isSameOrigin`
 * (undefined: not reported).
 */
export type Forms = Readonly<
  Record<
    `/${string}`,
    (
      visit: Posted & { isSameOrigin: boolean | undefined; usedOrigin: string | undefined },
    ) => HtmlPageAnswer | Promise<HtmlPageAnswer>
  >
>

/** A request of a signed-in person. */
export type Inside = Visit & { actor: Actor<'session'> }
/** A page for signed-in people. Its form performs an operation of the contract, and is recorded as that. */
export type SignedInPage = {
  get: (visit: Inside) => HtmlPageAnswer | Promise<HtmlPageAnswer>
  form?: {
    operation: Operation
    take: (visit: Inside & Posted) => HtmlPageAnswer | Promise<HtmlPageAnswer>
    /** Renders the form again with its errors. */
    again: (refusal: AppError, visit: Inside & Posted) => HtmlPageAnswer | Promise<HtmlPageAnswer>
  }
}
export type SignedInPages = Readonly<Record<`/${string}`, SignedInPage>>
/** Renders the page for an unknown address. */
export type UnknownPage = (asked: { url: string; requestId: string; isSignedIn: boolean }) => HtmlPageAnswer
/** Renders the page for an error. */
export type ProblemPage = (problem: AppError, requestId: string) => HtmlPageAnswer
