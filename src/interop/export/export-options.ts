import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { formatIssues, toIssues } from '../../core/issues.js';
import { SCHEMA_LEVELS } from '../../tool/render/render-tool.js';

/** The option that every export has. */
export const levelShape = { level: z.enum(SCHEMA_LEVELS).optional() };

/** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
export function checkExportOptions<S extends z.ZodType>(target: string, schema: S, options: unknown): z.output<S> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error, options);
  throw new ToolError('INVALID_ARGUMENT', `The export to ${target} is refused:\n  ${formatIssues(issues)}`, { details: { issues } });
}

/** A text cut to so many characters, and none of them halved. */
export function limitText(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
