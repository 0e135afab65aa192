import { isPlainObject } from '../../core/plain-data.js';
import { flag, names, type FieldReader, type Parser } from './setting-fields.js';

/*
 * What the settings of other programs look like: Claude Desktop, Claude Code, Cursor, VS Code, Copilot, Cline, Roo Code, Kiro,
 * Windsurf, Gemini CLI, LM Studio, Zed. The table for users is in docs/mcp.md.
 */

const UNUSED = '';
const NO_SANDBOX = 'The server runs without a sandbox.';
const NO_GOOGLE = 'Send a token in "headers".';

/** The settings of a server in other programs that are not used here: what to do instead, or nothing where they change nothing. */
export const FOREIGN_SERVER_KEYS: Readonly<Record<string, string>> = Object.freeze({
  ...Object.fromEntries(['description', 'title', 'icon', 'gallery', 'dev', 'watchPaths', 'alwaysLoad', 'extension', 'settings', 'note', '$schema'].map((key) => [key, UNUSED])),
  oauth: 'Send a token in "headers".',
  headersHelper: 'It is not run: write "headers".',
  sandbox: NO_SANDBOX,
  sandboxEnabled: NO_SANDBOX,
  authProviderType: NO_GOOGLE,
  targetAudience: NO_GOOGLE,
  targetServiceAccount: NO_GOOGLE,
});

/** The settings beside the servers in other programs. */
export const FOREIGN_TOP_KEYS: Readonly<Record<string, string>> = Object.freeze({
  ...Object.fromEntries(['$schema', 'globalShortcut', 'preferences'].map((key) => [key, UNUSED])),
  mcp: 'Switch servers off by "disabled".',
  sandbox: NO_SANDBOX,
});

/** Names as clients write them, such as `github.com/owner/repo`, in ours: a dot would make `mcp.a.b.c` a tool of `a` or of `a.b`. */
export function serverNameOf(written: string): string {
  return written.trim().replace(/[^A-Za-z0-9_-]+/gu, '-').slice(0, 64);
}

/** Returns the settings of a server in their usual form; Zed had the program as an object of its own. */
export function unwrapped(settings: unknown): unknown {
  if (!isPlainObject(settings) || !isPlainObject(settings['command'])) return settings;
  const { path, ...command } = settings['command'];
  return { ...settings, ...command, command: path };
}

const approvals: Parser<readonly string[]> = (value) => {
  const all = flag(value);
  return 'value' in all && typeof value !== 'number' ? { value: all.value ? ['*'] : [] } : names(value, '');
};

/** Reads the names of tools that a file wants to run without approval, in the words of other programs; all with `trust`. */
export function readApprovals(fields: FieldReader): readonly string[] {
  return [fields.read(approvals, 'auto_approve'), fields.read(approvals, 'always_allow'), fields.read(approvals, 'trust')].flatMap((each) => each ?? []);
}
