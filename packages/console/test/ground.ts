import { after } from 'node:test'
import type { Browser } from 'playwright-core'
import { startBrowser } from './browser.ts'
import { noBrowser } from './chromium.ts'
import { type Fleet, publicUrl, startFleet } from './fleet.ts'

/** Deployment with a fleet, and a browser with access to it. All tests of a process share them. */
export type Ground = Fleet & { browser: Browser }

let ground: Promise<Ground> | undefined
const ends: (() => unknown)[] = []

/** Returns the shared deployment and browser. The first call starts them. */
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

// This file is loaded before any suite starts, so that the hook belongs to the whole process.
after(async () => {
  await ground?.catch(() => {})
  for (const end of ends) await end()
})

/** Options for each test that needs the browser. */
export const inBrowser = { skip: noBrowser ?? false }
