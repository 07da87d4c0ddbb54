import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { withLoopback } from './loopback.ts'

const soon = () => new Date(Date.now() + 10_000)

test('an answer counts even if the browser disconnects before the reply', async () => {
  const { promise: isGone, resolve: gone } = Promise.withResolvers<void>()
  const read = async (_: unknown, url: URL) => {
    await isGone
    return url.searchParams.get('state') ?? undefined
  }
  const found = await withLoopback(read, async (redirectUri, answerUntil) => {
    const { port } = new URL(redirectUri)
    const browser = connect(Number(port), '127.0.0.1')
    browser.write('GET /callback?state=mine HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', () => browser.end())
    browser.resume()
    await once(browser, 'close')
    gone()
    return answerUntil(soon())
  })
  assert.equal(found, 'mine')
})

test('other requests get an error page, and the wait ends with a sign-in error', async () => {
  const statuses: number[] = []
  const read = (_: unknown, url: URL) => url.searchParams.get('state') ?? undefined
  await assert.rejects(
    withLoopback(read, async (redirectUri, answerUntil) => {
      for (const at of ['/callback', '/?state=mine', '/callback/?state=mine'])
        statuses.push((await fetch(new URL(at, redirectUri))).status)
      return answerUntil(new Date(Date.now() - 1000))
    }),
    /The sign-in took too long/,
  )
  assert.deepEqual(statuses, [404, 404, 404])
})
