/**
 * An error about a request: `{error: {code, message, parameter?, expected?, found?}}` in wire
 * format.
 */
export interface WireError {
  readonly code: string;
  readonly message: string;
  /** The invalid parameter. */
  readonly parameter?: string | undefined;
  readonly expected?: string | undefined;
  readonly found?: string | undefined;
}

/** An error response with its status. */
export class HttpError extends Error {
  readonly status: number;
  readonly error: WireError;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, error: WireError, headers: HttpError['headers'] = {}) {
    super(error.message);
    this.status = status;
    this.error = error;
    this.headers = headers;
  }
}
