let region: HTMLElement | undefined

/** Sets the live region that assistive technology reads out. Only the toasts call this. */
export function setAnnouncer(element: HTMLElement | null): void {
  region = element ?? undefined
}

/**
 * Announces something to assistive technology that is visible elsewhere.
 *
 * @example announce('Copied')
 */
export function announce(text: string): void {
  if (!region) return
  region.textContent = ''
  // The same text is read out again only if the region was empty in between.
  setTimeout(() => {
    if (region) region.textContent = text
  }, 50)
}
