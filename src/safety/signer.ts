import { hmacOf, isEqualSignature } from '../core/crypto.js';
import { canonicalJson, cloneFrozen, isPlainObject } from '../core/plain-data.js';

type Fields = Readonly<Record<string, unknown>>;

/** Signs plain data, each kind for a purpose of its own, and reads it back as it was signed. */
export class Signer {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    // A copy: the caller may wipe or reuse its own.
    this.#key = Uint8Array.from(key);
  }

  /** Returns a frozen copy with the signature. Every field is signed, so that none can be forgotten; missing ones are left out. */
  signed(purpose: string, fields: Fields): Fields {
    const copy = copyOf(fields);
    return Object.freeze({ ...copy, signature: this.#sign(purpose, copy) });
  }

  /**
   * Returns a frozen copy of what was signed, or `undefined` if it was not, not for this purpose, or not with this key.
   *
   * It is read once: getters could show one thing to the signature and another to the comparison with the call.
   */
  genuine(purpose: string, signed: unknown): Fields | undefined {
    try {
      if (!isPlainObject(signed)) return undefined;
      const copy = copyOf(signed);
      const { signature, ...fields } = copy;
      if (typeof signature !== 'string') return undefined;
      return isEqualSignature(signature, this.#sign(purpose, fields))
        ? Object.freeze(copy)
        : undefined;
    } catch {
      return undefined; // What came from outside may be anything.
    }
  }

  /** Signs canonical JSON, in which text cannot be shifted between fields. */
  #sign(purpose: string, fields: Fields): string {
    return hmacOf(this.#key, canonicalJson([purpose, fields]));
  }
}

/** Field by field: an input may itself be as deep as plain data can be. */
function copyOf(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [field, cloneFrozen(value)]),
  );
}
