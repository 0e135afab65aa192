import { sha256Of } from '../../core/crypto.js';
import { compareText } from '../../core/plain-data.js';

/** Which names a target allows. */
export interface NameRule {
  /** Whether a name is allowed as it is. */
  readonly fits: (name: string) => boolean;
  /** Characters of the longest allowed name. */
  readonly maxLength: number;
  /** Names that mean something else to the target. @default none */
  readonly reserved?: readonly string[];
}

/** The names of one export, there and back. */
export interface NameCodec {
  /** The name as the target sees it; undefined for names that are not in this export. */
  encode(name: string): string | undefined;
  /** The name that the target's name stands for; undefined for names that were never given out. */
  decode(encoded: string): string | undefined;
}

const FUNCTION_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Letters, digits, `_` and `-`, 64 at most. Source: the comments of `FunctionDefinition.name` in the openai package, and the API reference of Anthropic. */
export const FUNCTION_NAME_RULE: NameRule = Object.freeze({ fits: (name: string) => FUNCTION_NAME.test(name), maxLength: 64 });

/**
 * The same, and no digit or hyphen at the start.
 *
 * Source: the comments of `FunctionDeclaration.name` in the @google/genai package. They allow dots and 128 characters as
 * well, but older Gemini models do not; and so a tool has the same name at every target.
 */
export const GEMINI_NAME_RULE: NameRule = Object.freeze({ fits: (name: string) => IDENTIFIER.test(name), maxLength: 64 });

/** Digits of the digest that tells names apart: with 8, two of 1,000 names meet once in 8,000 exports, and then the next ones are taken. */
const DIGEST_DIGITS = 8;

/**
 * Gives every name one that the rule allows, and finds the way back.
 *
 * Names that fit stay as they are. In others a dot becomes `__` (`mcp.github.get_issue` → `mcp__github__get_issue`) and
 * whatever else is not allowed `_`, which also goes before a start that is not; a name that would be too long or equal to another one ends in `_` and the first
 * digits of its SHA-256. The order of the names changes nothing, and a name is encoded alike in every export in which it
 * collides with none.
 */
export function createNameCodec(names: Iterable<string>, rule: NameRule): NameCodec {
  const reserved = new Set(rule.reserved);
  const all = [...new Set(names)].sort(compareText);
  const fits = (name: string) => rule.fits(name) && !reserved.has(name);
  const encodings = new Map(all.filter(fits).map((name) => [name, name]));
  const taken = new Set([...reserved, ...encodings.keys()]);

  const others = all.filter((name) => !encodings.has(name)).map((name) => ({ name, plain: plainly(name, rule) }));
  const wanted = new Map<string, number>();
  for (const { plain } of others) wanted.set(plain, (wanted.get(plain) ?? 0) + 1);
  const isFree = (plain: string) => plain.length <= rule.maxLength && wanted.get(plain) === 1 && !taken.has(plain);
  const plainlyNamed = others.filter(({ plain }) => isFree(plain));
  for (const { name, plain } of plainlyNamed) {
    encodings.set(name, plain);
    taken.add(plain);
  }
  for (const { name, plain } of others) {
    if (encodings.has(name)) continue;
    const encoded = marked(name, plain, rule.maxLength, taken);
    encodings.set(name, encoded);
    taken.add(encoded);
  }

  const originals = new Map([...encodings].map(([name, encoded]) => [encoded, name]));
  return Object.freeze({ encode: (name: string) => encodings.get(name), decode: (encoded: string) => originals.get(encoded) });
}

/** The readable encoding; it may be too long, or that of another name too. */
function plainly(name: string, { fits, maxLength }: NameRule): string {
  const plain = name.replaceAll('.', '__').replace(/[^A-Za-z0-9_-]/g, '_');
  const isAllowed = (text: string) => fits(text.slice(0, maxLength));
  return [plain, plain.replaceAll('-', '_')].find(isAllowed) ?? `_${plain.replaceAll('-', '_')}`;
}

/** The readable encoding and a digest, cut to what is allowed. A name made to meet the digest of another gets the next. */
function marked(name: string, plain: string, maxLength: number, taken: ReadonlySet<string>): string {
  for (let attempt = 0; ; attempt += 1) {
    const digest = sha256Of(attempt === 0 ? name : `${name}\n${attempt}`).slice(0, DIGEST_DIGITS);
    const encoded = `${plain.slice(0, maxLength - DIGEST_DIGITS - 1)}_${digest}`;
    if (!taken.has(encoded)) return encoded;
  }
}
