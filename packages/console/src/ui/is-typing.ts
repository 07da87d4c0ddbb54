import { closestOf } from './closest.ts'

/** True if a text field or a select has the focus: the key is input for it. */
export const isTyping = (event: KeyboardEvent): boolean =>
  closestOf(event.target, 'input:not([type="checkbox"]):not([type="radio"]), textarea, select, [contenteditable]') !==
  null
