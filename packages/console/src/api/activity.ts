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
 * True if a person used the page in the last 5 s. Other requests are refetches by the page itself: the page marks them,
 * and the server does not count them as activity of the session.
 */
export const isPersonActive = (): boolean => Date.now() - lastInputAt < recentMs
