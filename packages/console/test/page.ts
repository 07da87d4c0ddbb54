import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Browser, BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core'
import type { Who } from './fleet.ts'
import type { Ground } from './ground.ts'

export type ColorScheme = 'light' | 'dark'
export type Width = 1440 | 375
/** Options of a page; default: light and 1440 pixels wide. */
export type Look = { colorScheme?: ColorScheme; width?: Width }
type Setting = Look & {
  /** Further options of the browser. */
  options?: BrowserContextOptions
}
type Opened = Setting & {
  /** Signed-in user; default: none. */
  as?: Who
  /**
   * True if the page shares cookies, storage and cached files with other pages of the same look and user, so that it
   * compiles no script again. For a test that changes none of them.
   */
  isShared?: boolean
  /** Problems that the test causes on purpose. */
  expected?: RegExp
}

const heights: Record<Width, number> = { 1440: 900, 375: 812 }
type State = Awaited<ReturnType<BrowserContext['storageState']>>
/** Cookies after sign-in, by browser and user: each user signs in once in a process. */
const signedIn = new WeakMap<Browser, Map<Who, Promise<State>>>()

/**
 * Opens a separate page for a test. The test fails if the page violates its content security policy or Trusted Types,
 * throws, logs an error, requests another origin, or gets a 5xx response.
 */
export async function openPage(t: TestContext, ground: Ground, opened: Opened = {}): Promise<Page> {
  const { as, expected, isShared = false, ...setting } = opened
  const { page, problems, close } = await (isShared ? openShared(ground, setting, as) : openOwn(ground, setting, as))
  t.after(async () => {
    await close()
    assert.deepEqual(
      problems.filter((problem) => !expected?.test(problem)),
      [],
      'problems of the page',
    )
  })
  return page
}

type Watched = { page: Page; problems: string[]; close: () => Promise<void> }

async function openOwn(ground: Ground, setting: Setting, as: Who | undefined): Promise<Watched> {
  const context = await openContext(ground, setting, as && (await stateOf(ground, as)))
  return { ...(await openWatched(ground, context)), close: () => context.close() }
}

/** Contexts of shared pages by browser, look and user; they end with the browser. */
const shared = new WeakMap<Browser, Map<string, Promise<BrowserContext>>>()

async function openShared(ground: Ground, setting: Setting, as: Who | undefined): Promise<Watched> {
  const known = shared.get(ground.browser) ?? new Map<string, Promise<BrowserContext>>()
  shared.set(ground.browser, known)
  const key = JSON.stringify([setting, as])
  const context =
    known.get(key) ??
    (as ? stateOf(ground, as) : Promise.resolve(undefined)).then((s) => openContext(ground, setting, s))
  known.set(key, context)
  const { page, problems } = await openWatched(ground, await context)
  return { page, problems, close: () => page.close() }
}

async function stateOf(ground: Ground, who: Who): Promise<State> {
  const known = signedIn.get(ground.browser) ?? new Map<Who, Promise<State>>()
  signedIn.set(ground.browser, known)
  const state = known.get(who) ?? signInOnce(ground, who)
  known.set(who, state)
  return state
}

async function signInOnce(ground: Ground, who: Who): Promise<State> {
  const { page, problems, close } = await openOwn(ground, {}, undefined)
  await page.goto('/admin/login')
  await fillSignIn(page, ground.signInOf(who))
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL((url) => !url.pathname.startsWith('/admin/login'))
  const state = await page.context().storageState()
  await close()
  assert.deepEqual(problems, [], `problems as ${who} signed in`)
  return state
}

/** Fills the form of the sign-in page without submitting it. */
export async function fillSignIn(page: Page, { username, password }: { username: string; password: string }) {
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(password)
}

/** Pending requests of each page. */
const requestsOf = new WeakMap<Page, Set<Request>>()

async function openContext(
  { browser, kit }: Ground,
  { colorScheme = 'light', width = 1440, options }: Setting,
  state: State | undefined,
): Promise<BrowserContext> {
  const context = await browser.newContext({
    baseURL: kit.publicUrl,
    colorScheme,
    reducedMotion: 'reduce',
    viewport: { width, height: heights[width] },
    locale: 'en-US',
    timezoneId: 'UTC',
    ...(state && { storageState: state }),
    ...options,
  })
  context.setDefaultTimeout(15_000)
  await context.addInitScript(() =>
    addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) =>
      console.error(`security policy violation: ${effectiveDirective} ${blockedURI} ${sample}`),
    ),
  )
  return context
}

async function openWatched({ kit }: Ground, context: BrowserContext): Promise<Omit<Watched, 'close'>> {
  const page = await context.newPage()
  return { page, problems: watch(page, kit.publicUrl) }
}

/** Matches the log entry for a 4xx response: browsers log each one as an error. The page handles these responses. */
const isOfAnAnswer = /^Failed to load resource: the server responded with a status of 4/

/** True for the stream of changes, which stays open as long as the page. */
const isStream = (request: Request): boolean => request.resourceType() === 'eventsource'

function watch(page: Page, origin: string): string[] {
  const problems: string[] = []
  const requests = new Set<Request>()
  requestsOf.set(page, requests)
  page.on('console', (message) => {
    if (message.type() === 'error' && !isOfAnAnswer.test(message.text())) problems.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`thrown: ${error.stack || error.message}`))
  page.on('request', (request) => {
    if (!isStream(request)) requests.add(request)
    const url = new URL(request.url())
    if (url.origin !== origin && !['data:', 'blob:'].includes(url.protocol))
      problems.push(`asks another origin: ${url.href}`)
  })
  for (const event of ['requestfinished', 'requestfailed'] as const)
    page.on(event as 'requestfinished', (request) => void requests.delete(request))
  page.on('response', (response) => {
    if (response.status() >= 500) problems.push(`${response.status()} for ${response.url()}`)
  })
  return problems
}

/** Waits until a page has loaded, has no pending requests, is not marked as busy, and has been drawn. */
export async function settle(page: Page): Promise<void> {
  await page.waitForLoadState('load')
  const requests = requestsOf.get(page)!
  const until = performance.now() + 15_000
  for (let quiet = 0; quiet < 2; ) {
    const isBusy = await page.evaluate(async () => {
      await document.fonts.ready
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      return document.querySelector('[aria-busy="true"]:not(button), .skeleton, .longload') !== null
    })
    quiet = isBusy || requests.size > 0 ? 0 : quiet + 1
    if (performance.now() > until) {
      const waiting = Array.from(requests, (request) => request.url()).join(', ')
      throw new Error(`${page.url()} did not come to rest: ${waiting || 'it says that it is busy'}`)
    }
  }
}
