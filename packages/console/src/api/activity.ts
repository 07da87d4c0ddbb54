const recentMs = 5_000
let lastInputAt = Date.now()

for (const type of ['pointerdown', 'keydown', 'wheel', 'touchstart'])
  window.addEventListener(
    type,
    () => {
      lastInputAt = Date.now()
    },
    { capture: true, passive: true },
  )

/**
 * Whether a person has used the page just now. A request without that is a refetch of the page's own: it says so, and
 * the server does not count it as activity of the session.
 */
export const isPersonActive = (): boolean => Date.now() - lastInputAt < recentMs
