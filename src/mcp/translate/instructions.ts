import { poisonedTexts } from '../../core/poisoned-text.js';
import { cleanText, findingOf, type McpFinding } from './foreign-text.js';

/** A server's instructions for models, and what is suspicious about them. */
export interface ScreenedInstructions {
  /** Missing if there are none, or if they hide something or steer models. */
  readonly text?: string;
  readonly findings: readonly McpFinding[];
}

/** Maximum number of characters that are passed on. */
const LONGEST = 2_048;

/** Returns a server's instructions if clients of a gateway may see them. */
export function screenedInstructions(
  server: string,
  instructions: string | undefined,
): ScreenedInstructions {
  if (instructions === undefined || instructions.trim() === '') return { findings: [] };
  const findings = poisonedTexts({ description: instructions }).map(({ rule, message, offset }) => {
    const text = `The server's instructions have ${message}. They aren't passed on.`;
    return findingOf(rule, server, text, undefined, { path: '/instructions', offset });
  });
  return findings.length > 0 ? { findings } : { text: cleanText(instructions, LONGEST), findings };
}
