import { hmacOf, isEqualSignature } from '../core/crypto.js';
import { canonicalJson, cloneFrozen, isPlainObject } from '../core/plain-data.js';

type Fields = Readonly<Record<string, unknown>>;

/** Signs plain data for a named purpose, and reads it back unchanged. */
export class Signer {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    // A copy, because the caller may wipe or reuse its own.
    this.#key = Uint8Array.from(key);
  }

  /**
   * Returns a frozen copy with the signature. Signs every field, so none can be forgotten; leaves
   * out missing ones.
   */
  signed(purpose: string, fields: Fields): Fields {
    const copy = copyOf(fields);
    return Object.freeze({ ...copy, signature: this.#sign(purpose, copy) });
  }

  /**
   * Returns a frozen copy of signed data, or `undefined` if the signature is missing or made for
   * another purpose or with another key.
   *
   * Reads the data only once: a getter could show the signature one thing and the comparison
   * another.
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
      return undefined; // Data from outside may be anything.
    }
  }

  /** Signs canonical JSON, in which text can't be shifted between fields. */
  #sign(purpose: string, fields: Fields): string {
    return hmacOf(this.#key, canonicalJson([purpose, fields]));
  }
}

/** Copies field by field, because an input may itself be as deep as plain data can be. */
function copyOf(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [field, cloneFrozen(value)]),
  );
}
