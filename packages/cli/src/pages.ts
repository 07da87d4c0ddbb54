import { pageItems } from '@holdfast/contract/limits'
/** A page of a list of the API. */
export type Page<T> = { items: readonly T[]; next_cursor: string | null }
/** Requests the page after a cursor; without a cursor the first one. */
export type AskPage<T> = (page: { limit: number; cursor?: string }) => Promise<Page<T>>

const mostPages = 50

/** Yields the items of a list, of at most `most` pages. */
export async function* walk<T, C>(ask: AskPage<T>, view: (item: T) => C, most = mostPages): AsyncGenerator<C> {
  let cursor: string | null = null
  for (let n = 0; n < most; n++) {
    const page: Page<T> = await ask({ limit: pageItems.most, ...(cursor !== null && { cursor }) })
    for (const item of page.items) yield view(item)
    cursor = page.next_cursor
    if (cursor === null) return
  }
}
