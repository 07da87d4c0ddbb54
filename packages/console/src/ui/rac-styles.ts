/**
 * Prevents a `<style>` element of React Aria, which the content security policy refuses. React Aria adds none if an
 * element with this id exists; `ui.css` has the rule. Import this before React Aria.
 */
const styleId = 'react-aria-pressable-style'
if (!document.getElementById(styleId)) {
  const element = document.createElement('meta')
  element.id = styleId
  document.head.append(element)
}
