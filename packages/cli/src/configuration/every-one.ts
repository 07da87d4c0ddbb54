import { pageItems } from '@holdfast/contract/limits'
import type { AskPage, Page } from '../pages.ts'

/** Returns all items of a list. */
export async function everyOne<T>(ask: AskPage<T>): Promise<T[]> {
  const items: T[] = []
  for (let cursor: string | null = null; ; ) {
    const page: Page<T> = await ask({ limit: pageItems.most, ...(cursor !== null && { cursor }) })
    items.push(...page.items)
    cursor = page.next_cursor
    if (cursor === null) return items
  }
}
