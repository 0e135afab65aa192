import { ToolError, type Issue } from '../../core/errors.js';
import { clip } from '../../json-schema/schema-issues.js';

export type Path = Issue['path'];

/** Issues listed at most: a model corrects the first ones and tries again. */
const MAX_ISSUES = 20;
/** Characters of one issue: schemas hold long lists and patterns. */
const MAX_MESSAGE = 300;
/** Steps of a place that are shown, and characters of each. */
const MAX_STEPS = 16;
const MAX_STEP = 64;

/** The error of an input that its schema refuses: one line per issue, at most 20 of them. */
export function invalidInput(toolName: string, issues: readonly Issue[], cause?: unknown): ToolError {
  const listed = issues.slice(0, MAX_ISSUES).map(({ path, message }) => Object.freeze({ path, message: clip(message, MAX_MESSAGE) }));
  const lines = listed.map(({ path, message }) => (path.length === 0 ? message : `${formatPath(path)}: ${message}`));
  if (issues.length > listed.length) lines.push(`and ${issues.length - listed.length} more`);
  const options = { details: { toolName, issues: Object.freeze(listed) } };
  return new ToolError('INVALID_INPUT', `The input of ${toolName} is refused:\n  ${lines.join('\n  ')}`, cause === undefined ? options : { ...options, cause });
}

/** A place as a program would write it: `list[0].name`; names that are no identifiers in brackets. */
export function formatPath(path: Path): string {
  const steps = path.slice(0, MAX_STEPS).map((step, index) => {
    if (typeof step === 'number') return `[${step}]`;
    const name = clip(step, MAX_STEP);
    if (!/^[A-Za-z_$][\w$-]*…?$/.test(name)) return `[${JSON.stringify(name)}]`;
    return index === 0 ? name : `.${name}`;
  });
  return `${steps.join('')}${path.length > MAX_STEPS ? '…' : ''}`;
}

/** The value at a place; `undefined` where there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}
