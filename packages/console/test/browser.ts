import { type Browser, chromium } from 'playwright-core'
import { findChromium } from './chromium.ts'

/**
 * Starts Chromium with access to one deployment only: its public URL resolves to its listening address. No other name
 * resolves.
 *
 * @param publicUrl public URL of the deployment, on HTTP
 * @param url listening address of the deployment, on loopback
 */
export async function startBrowser(
  publicUrl: string,
  url: Promise<string>,
): Promise<{ browser: Browser; stop: () => Promise<void> }> {
  const [{ executablePath, env, remove }, at] = await Promise.all([findChromium(), url])
  const browser = await chromium.launch({
    executablePath,
    env,
    // Chromium's sandbox needs rights that a container or root lacks. Only pages of the tests are opened.
    chromiumSandbox: false,
    args: [
      `--host-resolver-rules=MAP ${new URL(publicUrl).host} ${new URL(at).host}, MAP * ~NOTFOUND`,
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--font-render-hinting=none',
      '--force-color-profile=srgb',
    ],
  })
  return {
    browser,
    stop: async () => {
      await browser.close()
      remove()
    },
  }
}
