import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/**
 * Node's own crypto, 5 to 14 times as fast as the library, where there is one.
 *
 * It is asked for and not imported, so that bundles for browsers and edge runtimes hold no module of Node; and not before
 * it is needed, as loading it takes a few milliseconds.
 */
const node = () => nodeProcess()?.getBuiltinModule?.('node:crypto');

interface Digesting {
  update(data: string | Uint8Array): { digest(form: 'hex'): string };
}

/** Returns Node's process, where there is one, as far as it is used: the page is checked without the types of Node. */
function nodeProcess() {
  return (globalThis as { readonly process?: unknown }).process as
    | {
        readonly env?: Readonly<Record<string, string | undefined>>;
        readonly getBuiltinModule?: (name: 'node:crypto') => {
          createHash(name: 'sha256'): Digesting;
          createHmac(name: 'sha256', key: Uint8Array): Digesting;
        };
      }
    | undefined;
}

/** Returns the SHA-256 of a text or of bytes as hexadecimal digits. */
export function sha256Of(data: string | Uint8Array): string {
  return (
    node()?.createHash('sha256').update(data).digest('hex') ??
    bytesToHex(sha256(typeof data === 'string' ? utf8ToBytes(data) : data))
  );
}

/** Returns the HMAC-SHA-256 of a text as hexadecimal digits. */
export function hmacOf(key: Uint8Array, text: string): string {
  return (
    node()?.createHmac('sha256', key).update(text).digest('hex') ??
    bytesToHex(hmac(sha256, key, utf8ToBytes(text)))
  );
}

/** Compares two texts in a time that does not depend on where they differ: a forger of signatures would learn one digit by digit. */
export function isEqualSignature(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let index = 0; index < one.length; index += 1)
    difference |= one.charCodeAt(index) ^ other.charCodeAt(index % Math.max(1, other.length));
  return difference === 0;
}

/** Returns random bytes that cannot be predicted. */
export function randomBytes(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}

/** Returns a random UUID. Browsers have it on secure pages alone. */
export function randomUUID(): string {
  return crypto.randomUUID();
}

/** Returns the variables of the process's environment; none where there is no process. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return nodeProcess()?.env ?? {};
}

/** Node's own base64, more than 20 times as fast as `atob` and `btoa`, where there is one. */
const nodeBuffer = () =>
  (globalThis as { readonly Buffer?: unknown }).Buffer as
    | {
        from(
          data: ArrayBufferLike,
          offset: number,
          length: number,
        ): { toString(form: 'base64'): string };
        from(text: string, form: 'base64'): Uint8Array;
      }
    | undefined;

/** Returns bytes as base64. */
export function base64Of(bytes: Uint8Array): string {
  return (
    nodeBuffer()?.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') ??
    btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  );
}

/** Returns the number of bytes of base64 as model services take it: padded, and without spaces; `undefined` for any other text. */
export function base64Size(text: string): number | undefined {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  if (
    text.length % 4 !== 0 ||
    /[^A-Za-z0-9+/]/.test(padding === 0 ? text : text.slice(0, -padding))
  )
    return undefined;
  return (text.length / 4) * 3 - padding;
}

/** Returns the bytes of base64. @throws TypeError for what is not base64. */
export function bytesOf(base64: string): Uint8Array {
  if (base64Size(base64) === undefined) throw new TypeError('base64 with its padding');
  return new Uint8Array(
    nodeBuffer()?.from(base64, 'base64') ??
      Array.from(atob(base64), (character) => character.charCodeAt(0)),
  );
}
