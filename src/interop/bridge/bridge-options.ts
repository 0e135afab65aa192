import { z } from 'zod';
import { type CallContext, type Policy, POLICY_MODES } from '../../safety/calls.js';
import { levelShape } from '../export/export-input.js';
import type { CallExecutor } from './call-executor.js';

/** Whether a value has a method. */
export function withMethod<T>(method: keyof T & string, what: string) {
  return z.custom<T>((value) => typeof value === 'object' && value !== null && typeof (value as Record<string, unknown>)[method] === 'function', what);
}

const text = z.string().optional();
const contextShape = { principal: text, scopes: z.array(z.string()).optional(), persona: text, conversationId: text, mode: z.enum(POLICY_MODES).optional() };

/** What the tools of all frameworks take. */
export const bridgeShape = { ...contextShape, ...levelShape };
export const executorOption = withMethod<CallExecutor>('execute', 'a ToolExecutor');
export const policyOption = withMethod<Policy>('decide', 'a policy with a decide method').optional();

/** Who calls, of checked options; without what was not given. */
export function contextOf(options: z.output<z.ZodObject<typeof contextShape>>): CallContext {
  const { principal, scopes, persona, conversationId, mode } = options;
  return Object.fromEntries(Object.entries({ principal, scopes, persona, conversationId, mode }).filter(([, value]) => value !== undefined));
}
