import { after } from 'node:test'
import type { Browser } from 'playwright-core'
import { startBrowser } from './browser.ts'
import { noBrowser } from './chromium.ts'
import { type Fleet, publicUrl, startFleet } from './fleet.ts'

/** What the tests of one process share: a deployment with a fleet in it, and a browser that reaches it. */
export type Ground = Fleet & { browser: Browser }

let ground: Promise<Ground> | undefined
const ends: (() => unknown)[] = []

/** Gives every test the same deployment and browser, which the first one starts. */
export function openGround(): Promise<Ground> {
  ground ??= start()
  return ground
}

async function start(): Promise<Ground> {
  const { promise: url, resolve: listens, reject } = Promise.withResolvers<string>()
  const starting = startFleet({ after: (end) => void ends.unshift(end) }, listens)
  starting.catch(reject)
  const started = startBrowser(publicUrl, url)
  const [fleet, { browser, stop }] = await Promise.all([starting, started])
  // The browser ends first: it holds connections to the deployment.
  ends.unshift(stop)
  return { ...fleet, browser }
}

// This file is loaded before any suite begins, so that the hook belongs to the whole process.
after(async () => {
  await ground?.catch(() => {})
  for (const end of ends) await end()
})

/** Options for each test that needs the browser. */
export const inBrowser = { skip: noBrowser ?? false }
