/** An answer that says more than its body: a status, headers, or bytes made once and sent as they are. */
export class Answer<T> {
  readonly body: T | Buffer | null
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string>>
  constructor(body: T | Buffer | null, more: { status?: number; headers?: Readonly<Record<string, string>> } = {}) {
    this.body = body
    this.status = more.status
    this.headers = more.headers ?? {}
  }
}
