// Written out: the types of the SDK would have to be installed by everyone who imports this package's.

/** The question that a server asks the user in the middle of a call. */
export interface ElicitationRequest {
  readonly message: string;
  /** A form: a JSON Schema of an object with flat fields. */
  readonly requestedSchema?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** The user's answer. */
export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  /** The fields that were filled in, for `accept`. */
  readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** Answers the question that a server asks the user in the middle of a call. */
export type OnElicit = (server: string, request: ElicitationRequest) => Promise<ElicitationAnswer>;

/** The protocol that a server speaks: `modern` from 2026-07-28 on. */
export type ProtocolEra = 'legacy' | 'modern';

/** The name under which a program presents itself to servers. */
export interface McpClientInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}
