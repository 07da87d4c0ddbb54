/** True if a text field or a select has the focus: the key is input for it. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null
  return (
    target?.closest('input:not([type="checkbox"]):not([type="radio"]), textarea, select, [contenteditable]') !== null
  )
}
