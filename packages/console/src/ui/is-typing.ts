/** Whether a key belongs to what has the focus: a field, or a dialog. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null
  return (
    target?.closest('input:not([type="checkbox"]):not([type="radio"]), textarea, select, [contenteditable]') !== null
  )
}
