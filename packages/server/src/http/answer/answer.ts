import type { HtmlPage } from './html-page.ts'

/**
 * A response with more than a body: another status, the session's cookie, a redirect, a page. Reads with a tag return a
 * Representation instead, and rules return rows.
 */
export class Answer<T> {
  readonly body: T | Buffer | HtmlPage | null
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string>>
  constructor(
    body: T | Buffer | HtmlPage | null,
    more: { status?: number; headers?: Readonly<Record<string, string>> } = {},
  ) {
    this.body = body
    this.status = more.status
    this.headers = more.headers ?? {}
  }
}
