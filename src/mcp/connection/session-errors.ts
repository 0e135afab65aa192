/** The session has ended, or the server does not know it any more; nothing was done in it. */
export class SessionExpiredError extends Error {
  override readonly name = 'SessionExpiredError';

  constructor(cause?: Error) {
    super('the session has ended', { cause });
  }
}

/** What calls fail with whose session has ended; its name is shown to people. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}
