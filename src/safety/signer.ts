import { hmacOf, isEqualSignature } from '../core/crypto.js';
import { secret } from '../core/options.js';
import {
  canonicalJson,
  cloneFrozen,
  isPlainObject,
  without,
  mapValues,
} from '../core/plain-data.js';

/** The minimum length of a key in bytes, which is the length of an HMAC-SHA-256 digest. */
const SHORTEST_KEY = 32;
/** Returns the schema for the key that signs approvals. */
export const approvalKey = () =>
  secret<Uint8Array>(
    `an approval key of at least ${SHORTEST_KEY} bytes`,
    (value) => value instanceof Uint8Array && value.length >= SHORTEST_KEY,
    `Generate one with crypto.randomBytes(${SHORTEST_KEY}).`,
  );

type Fields = Readonly<Record<string, unknown>>;

/** Signs plain data for a named purpose, and verifies it later. */
export class Signer {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    // The key is copied, because the caller may clear or reuse the original.
    this.#key = Uint8Array.from(key);
  }

  /**
   * Returns a frozen copy with a signature. Signs all fields, so that none can be forgotten. Omits
   * `undefined` fields.
   */
  signed(purpose: string, fields: Fields): Fields {
    const copy = copyOf(fields);
    return Object.freeze({ ...copy, signature: this.#sign(purpose, copy) });
  }

  /**
   * Returns stored data, frozen, or `undefined` if its signature is missing or was created for
   * another purpose or with another key.
   */
  genuine(purpose: string, text: string | undefined): Fields | undefined {
    const { signature, ...fields } = fieldsIn(text) ?? {};
    try {
      return typeof signature === 'string' &&
        isEqualSignature(signature, this.#sign(purpose, fields))
        ? Object.freeze({ ...copyOf(fields), signature })
        : undefined;
    } catch {
      return undefined; // Other processes can store data that is nested too deeply.
    }
  }

  /** Returns 64 hexadecimal digits that depend on the key, the purpose, and the data. */
  digestOf(purpose: string, data: unknown): string {
    return this.#sign(purpose, { data });
  }

  /** Signs canonical JSON, so moving text from one field to another changes the signature. */
  #sign(purpose: string, fields: Fields): string {
    return hmacOf(this.#key, canonicalJson([purpose, fields]));
  }
}

/** Returns the fields of a stored object, which aren't verified, or `undefined` for other texts. */
export function fieldsIn(text: string | undefined): Fields | undefined {
  try {
    const stored: unknown = JSON.parse(text ?? 'null');
    return isPlainObject(stored) ? stored : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Copies each field separately, because an input can already have the maximum depth of plain data.
 */
function copyOf(fields: Fields): Fields {
  return mapValues(without(fields), ([, value]) => cloneFrozen(value));
}
