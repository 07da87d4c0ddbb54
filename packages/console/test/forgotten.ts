import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'

/**
 * Asserts that a secret is gone after its sheet has closed: from address, history, storage, cookies, fields, page, and
 * the caches of queries and mutations.
 */
export async function assertForgotten(page: Page, secret: string): Promise<void> {
  const found = await page.evaluate((text) => {
    type Fiber = { memoizedProps?: { client?: Client } | null; child?: Fiber | null; current?: Fiber }
    type Cache = { getAll: () => { state: unknown; queryKey?: unknown }[] }
    type Client = { getQueryCache: () => Cache; getMutationCache: () => Cache }
    /** Returns the query client, which is a property of the outermost components. */
    const clientOf = (): Client | undefined => {
      const root = document.getElementById('root') as unknown as Record<string, Fiber>
      const key = Object.keys(root).find((name) => name.startsWith('__reactContainer'))
      for (let at: Fiber | null | undefined = key ? root[key] : undefined; at; at = at.child)
        if (at.memoizedProps?.client) return at.memoizedProps.client
      return undefined
    }
    const client = clientOf()
    const kept = [client?.getQueryCache(), client?.getMutationCache()].flatMap((cache) => cache?.getAll() ?? [])
    const places = {
      address: location.href,
      history: JSON.stringify(history.state),
      storage: JSON.stringify({ ...localStorage, ...sessionStorage }),
      cookies: document.cookie,
      fields: Array.from(
        document.querySelectorAll('input, textarea'),
        (field) => (field as HTMLInputElement).value,
      ).join(),
      page: document.documentElement.outerHTML,
      cache: JSON.stringify(kept.map(({ state, queryKey }) => [state, queryKey])),
    }
    return {
      hasCache: kept.length > 0,
      places: Object.entries(places).flatMap(([place, all]) => (all.includes(text) ? [place] : [])),
    }
  }, secret)
  assert.deepEqual(found, { hasCache: true, places: [] })
}
