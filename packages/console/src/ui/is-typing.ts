import { closestOf } from './closest.ts'

/**
 * True if a text field or a select has the focus: the key is input for it. The path of the event begins inside a shadow
 * root, where its `target` is only the host.
 */
export const isTyping = (event: KeyboardEvent): boolean =>
  closestOf(
    event.composedPath()[0] ?? null,
    'input:not([type="checkbox"]):not([type="radio"]), textarea, select, [contenteditable]',
  ) !== null
