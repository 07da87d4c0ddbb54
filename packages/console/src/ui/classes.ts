/**
 * Joins the names of CSS classes and leaves out those that are off.
 *
 * @example classes('btn', isSmall && 'sm') // 'btn sm' or 'btn'
 */
export const classes = (...names: readonly (string | false | undefined)[]): string => names.filter(Boolean).join(' ')
