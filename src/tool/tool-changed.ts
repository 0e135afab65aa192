import type { ToolError } from '../core/errors.js';
import type { ToolDefinition } from './tool-definition.js';

/** Returns the current tool in place of the one by which a call was judged; `undefined` if it is not known. */
export type Renewal = (judged: ToolDefinition) => ToolDefinition | undefined;

/** The key under which an error keeps its renewal; shared between loaded copies of the package. */
const RENEWAL = Symbol.for('tooldex/renewal/v1');

/** Adds to the error of a call, of which nothing was sent, how its tool is judged from now on. */
export function withRenewal(error: ToolError, renewal: Renewal): ToolError {
  return Object.defineProperty(error, RENEWAL, { value: renewal });
}

/** Returns the tool in place of the one by which a call was judged, if the call failed because that is outdated. */
export function renewedTool(error: unknown, judged: ToolDefinition): ToolDefinition | undefined {
  try {
    const renewal: unknown = error instanceof Object && Object.hasOwn(error, RENEWAL) ? (error as { [RENEWAL]?: unknown })[RENEWAL] : undefined;
    return typeof renewal === 'function' ? (renewal as Renewal)(judged) : undefined;
  } catch {
    return undefined; // A hostile proxy, or a tool that cannot be defined again.
  }
}
