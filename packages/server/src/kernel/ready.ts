/**
 * Goes on with a value that is here already or will be: at once in the first case, so that what is warm stays
 * synchronous from end to end.
 */
export const whenReady = <T, R>(value: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> =>
  value instanceof Promise ? value.then(goOn) : goOn(value)
