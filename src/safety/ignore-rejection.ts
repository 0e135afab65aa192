/** The same value; when it is a promise, its rejection ends here: unhandled, it would end the process. */
export function ignoreRejection<T>(value: T): T {
  if (value instanceof Promise) value.catch(() => undefined);
  return value;
}
