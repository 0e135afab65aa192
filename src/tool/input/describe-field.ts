import { describeValue } from '../../core/plain-data.js';
import type { Path } from './input-error.js';

/** Words of names whose values are secrets, in the singular. */
const SECRET_WORDS: ReadonlySet<string> = new Set(['password', 'passwd', 'passphrase', 'passcode', 'pwd', 'pin', 'token', 'secret', 'key', 'apikey', 'authorization', 'auth', 'bearer', 'credential', 'cookie']);
/** Words of one piece, such as `accesstoken`; shorter ones would also be found in `monkey` and `spinner`. */
const SECRET_ENDS = /(?:password|passwd|passphrase|passcode|token|secret|apikey|privatekey|secretkey|accesskey|credential|authorization)s?$/;
/** Characters of a name that are looked at. */
const LONGEST_NAME = 200;

/**
 * A value of an input as an error message shows it: as `describeValue` does, but only its kind where a name on the way
 * to it looks like that of a secret (`apiKey`, `auth.value`, `tokens[0]`). Messages reach models, logs and traces.
 */
export function describeField(path: Path, value: unknown): string {
  return isSecretPath(path) ? kindOf(value) : describeValue(value);
}

/** Whether a name on the way to a field looks like that of a secret. */
export function isSecretPath(path: Path): boolean {
  return path.some((step) => typeof step === 'string' && isSecretName(step));
}

/** A value's kind, and nothing of what it holds. */
export function kindOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return 'a text';
    case 'number':
    case 'bigint':
      return 'a number';
    case 'boolean':
      return 'true or false';
    default:
      return describeValue(value);
  }
}

function isSecretName(name: string): boolean {
  const words = name.slice(0, LONGEST_NAME).replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase().split(/[^a-z]+/);
  return words.some((word) => SECRET_WORDS.has(word) || SECRET_WORDS.has(word.replace(/s$/, '')) || SECRET_ENDS.test(word));
}
