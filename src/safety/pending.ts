import type { DangerLevel } from '../core/enums.js';
import type { Json } from '../core/plain-data.js';

interface PendingCall {
  /** Of this pending thing; one call may wait for several things, one after the other. */
  readonly id: string;
  readonly callId: string;
  readonly toolName: string;
  /** The arguments, as they were asked for. */
  readonly input: Json;
  /** SHA-256 of the tool's metadata when it began to wait. */
  readonly definitionDigest: string;
  readonly principal?: string;
  readonly conversationId?: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** A call that waits for a person's yes. It can be stored and sent: its signature shows any change. */
export interface PendingApproval extends PendingCall {
  readonly kind: 'approval';
  readonly danger: DangerLevel;
  /** Why a yes is needed, and which rule says so. */
  readonly reason: string;
  readonly rule: string;
  /** Milliseconds since 1970; later answers are refused. */
  readonly expiresAt: number;
  readonly signature: string;
}

/** A call that a person or another program answers instead of the tool. */
export interface PendingManualCall extends PendingCall {
  readonly kind: 'manual';
}

/** A tool that asked a person something; the answer is its result. */
export interface PendingQuestion extends PendingCall {
  readonly kind: 'question';
  readonly question: string;
  readonly options?: readonly string[];
}

/** Something a run of tools waits for: plain data, the same for a terminal, an MCP client and a stored session. */
export type Pending = PendingApproval | PendingManualCall | PendingQuestion;
