let region: HTMLElement | undefined

/** Sets the live region that the page reads out. The toasts do this once. */
export function setAnnouncer(element: HTMLElement | null): void {
  region = element ?? undefined
}

/**
 * Says something to assistive technology that is seen elsewhere.
 *
 * @example announce('Copied')
 */
export function announce(text: string): void {
  if (!region) return
  region.textContent = ''
  // The same text twice is read out only if it was gone in between.
  setTimeout(() => {
    if (region) region.textContent = text
  }, 50)
}
