/**
 * Returns the closest element around the target of an event. Null also if the target is no element: the window, the
 * document, or none.
 */
export const closestOf = (target: EventTarget | null, selector: string): Element | null =>
  target instanceof Element ? target.closest(selector) : null
