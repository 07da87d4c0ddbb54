/**
 * Continues with a value or a promise. With a value it runs at once, so that cached reads stay synchronous from end to
 * end.
 */
export const mapMaybePromise = <T, R>(value: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> =>
  value instanceof Promise ? value.then(goOn) : goOn(value)
