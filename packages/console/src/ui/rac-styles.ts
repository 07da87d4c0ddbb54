/**
 * React Aria puts a `<style>` into the page unless an element of this id is there. The content security policy refuses
 * it, so an empty element takes the place; `ui.css` has the rule. Import this before React Aria.
 */
const styleId = 'react-aria-pressable-style'
if (!document.getElementById(styleId)) {
  const element = document.createElement('meta')
  element.id = styleId
  document.head.append(element)
}
