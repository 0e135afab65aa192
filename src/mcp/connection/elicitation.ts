// Written out: the types of the SDK would have to be installed by everyone who imports this package's.

/** What a server asks a person in the middle of a call. */
export interface ElicitationRequest {
  readonly message: string;
  /** A form: a JSON Schema of an object with flat fields. */
  readonly requestedSchema?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  /** What was filled in, for `accept`. */
  readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** Answers what a server asks a person in the middle of a call. */
export type OnElicit = (server: string, request: ElicitationRequest) => Promise<ElicitationAnswer>;

/** Which protocol a server speaks: `modern` from 2026-07-28 on. */
export type ProtocolEra = 'legacy' | 'modern';

/** How a program calls itself to servers. */
export interface McpClientInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}
