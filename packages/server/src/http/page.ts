import type { Operation } from '@holdfast/contract'
import type { Actor, Caller } from '../kernel/actor.ts'
import type { AppError } from '../kernel/app-error.ts'
import type { HtmlPage } from './page-html.ts'

/** What a page may want of the request that asks for it. */
export type Visit = {
  /** Its path and query. */
  url: string
  query: URLSearchParams
  params: Readonly<Record<string, string>>
  /** The value of a cookie that was sent once. */
  cookies: (name: string) => string | undefined
  caller: Caller
}
/** 200 unless it says otherwise. */
export type Page = { status?: number; headers: Readonly<Record<string, string | string[]>>; body: Buffer | HtmlPage }
/** Pages by their paths. They are outside the contract: a person reads them, not a client. */
export type Pages = Readonly<Record<`/${string}`, (visit: Visit) => Page | Promise<Page>>>

/** The fields of a form that was posted, each once. */
type Posted = Visit & { form: Readonly<Record<string, string>> }
/**
 * What takes a form that a page of another site may send: nothing of it is believed for where it comes from, unless it
 * asks what the browser says of that (undefined: nothing).
 */
export type Forms = Readonly<
  Record<
    `/${string}`,
    (visit: Posted & { isSameOrigin: boolean | undefined; usedOrigin: string | undefined }) => Page | Promise<Page>
  >
>

/** Somebody who has signed in. */
export type Inside = Visit & { actor: Actor<'session'> }
/** A page for who has signed in; its form does what an operation of the contract does, and is recorded as that. */
export type Room = {
  get: (visit: Inside) => Page | Promise<Page>
  form?: {
    operation: Operation
    take: (visit: Inside & Posted) => Page | Promise<Page>
    /** The form again, with what was wrong. */
    again: (refusal: AppError, visit: Inside & Posted) => Page | Promise<Page>
  }
}
export type Rooms = Readonly<Record<`/${string}`, Room>>
/** What a browser gets that opens an address which is no page. */
export type UnknownPage = (asked: { url: string; requestId: string; isSignedIn: boolean }) => Page
/** What a browser shows instead of a page that failed. */
export type ProblemPage = (problem: AppError, requestId: string) => Page
