import { suggestNames } from '../../../core/issues.js';

/** Which known key an unknown one is probably meant to be. */
export type Suggester = (key: string, known: readonly string[]) => string | undefined;

/** Keys looked up in one file: more are no misspellings, and each takes a fraction of a millisecond. */
const MOST_LOOKED_UP = 100;

/** What others call a key. */
const KNOWN_AS: ReadonlyMap<string, string> = new Map([
  ['input_schema', 'parameters'],
  ['schema', 'parameters'],
  ['timeout', 'default_timeout'],
  ['timeout_seconds', 'default_timeout'],
  ['timeout_ms', 'default_timeout'],
  ['tags', 'capabilities'],
  ['cache_ttl_ms', 'cache_ttl'],
  ['cost', 'cost_per_call'],
  ['consent', 'requires_consent'],
]);

/** A look-up with a memory and a bound, for one file. */
export function createSuggester(): Suggester {
  const answers = new Map<string, string | undefined>();
  return (key, known) => {
    const place = `${known.length} ${key}`;
    if (!answers.has(place)) {
      if (answers.size >= MOST_LOOKED_UP) return undefined;
      const snake = key.slice(0, 64).replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(/[\s-]+/g, '_').toLowerCase();
      const candidates = [snake, KNOWN_AS.get(snake), ...suggestNames(key, known)];
      answers.set(place, candidates.find((candidate) => candidate !== undefined && known.includes(candidate)));
    }
    return answers.get(place);
  };
}
