import type { Caller } from '../kernel/actor.ts'

/** What a page may want of the request that asks for it. */
export type Visit = {
  query: URLSearchParams
  params: Readonly<Record<string, string>>
  /** The value of a cookie that was sent once. */
  cookies: (name: string) => string | undefined
  caller: Caller
}
/** 200 unless it says otherwise. */
export type Page = { status?: number; headers: Readonly<Record<string, string>>; body: Buffer }
/** Pages by their paths. They are outside the contract: a person reads them, not a client. */
export type Pages = Readonly<Record<`/${string}`, (visit: Visit) => Page | Promise<Page>>>

/** The fields of a form that was posted, each once. */
type Posted = Visit & { form: Readonly<Record<string, string>> }
/** What takes a form that a page of another site may send: nothing of it is believed for where it comes from. */
export type Forms = Readonly<Record<`/${string}`, (visit: Posted) => Page | Promise<Page>>>
