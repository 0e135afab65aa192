import { chmod, constants, link, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client';
import { pauseFor, type Clock } from '../../core/clock.js';
import { randomUUID, sha256Of } from '../../core/crypto.js';
import { ToolError } from '../../core/errors.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { StateStore } from '../../state/state-store.js';
import type { EnvVariables } from '../settings/transport-settings.js';

/** A store for logins: any `StateStore`, or a folder. */
export type LoginStore = Pick<StateStore, 'get' | 'compareAndSet'>;

/** The stored login for one server. The SDK's parts name the issuer for which they're valid. */
export interface Login {
  /** The program's registration at the authorization server, if it registered itself. */
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
  /** The scopes to request at the next login, if the last one lacked some. */
  readonly wanted?: string;
}

/** Maximum number of attempts to write a login that other processes are also writing. */
const MOST_ATTEMPTS = 16;

/**
 * Returns the key for the login at a server: a digest of its URL, so that no other server gets its
 * tokens.
 */
export function loginKeyOf(serverUrl: string): string {
  return `tooldex:login:${sha256Of(new URL(serverUrl).href)}`;
}

/** Changes a stored login. `undefined` removes it. */
export async function updateLogin(
  store: LoginStore,
  key: string,
  change: (login: Login) => Login | undefined,
): Promise<void> {
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const before = await store.get(key);
    const after = change(loginOf(before));
    if (
      await store.compareAndSet(
        key,
        before,
        after === undefined ? undefined : JSON.stringify(after),
      )
    )
      return;
  }
  throw new ToolError(
    'STATE_UNAVAILABLE',
    'Could not save the login: another process keeps changing it. Try again.',
  );
}

/**
 * Milliseconds after which a login's lock expires, and milliseconds between two attempts to get the
 * lock.
 */
const LOCK_MS = 60_000;
const PAUSE_MS = 50;

/**
 * Runs `work` while no other process works on the same login. A dead process's lock expires after a
 * minute.
 */
export async function whileLocked(
  store: LoginStore,
  key: string,
  clock: Clock,
  work: () => Promise<void>,
): Promise<void> {
  const lock = `${key}.lock`;
  for (;;) {
    const own = `${clock.now() + LOCK_MS} ${randomUUID()}`;
    if (await store.compareAndSet(lock, undefined, own)) {
      try {
        return await work();
      } finally {
        await store.compareAndSet(lock, own, undefined);
      }
    }
    const held = await store.get(lock);
    if (held !== undefined && !(parseInt(held, 10) > clock.now()))
      await store.compareAndSet(lock, held, undefined);
    else await pauseFor(PAUSE_MS, clock);
  }
}

/** Parses a stored login. If it can't be parsed, the user has to log in again. */
export function loginOf(text: string | undefined): Login {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return isPlainObject(value) ? value : {};
  } catch {
    return {};
  }
}

/**
 * Returns the folder for logins: in the user's data folder (XDG), or its counterpart on Windows.
 */
export function loginFolder(env: EnvVariables): string {
  const configured = process.platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_DATA_HOME'];
  const base =
    configured !== undefined && isAbsolute(configured)
      ? configured
      : join(homedir(), '.local', 'share');
  return join(base, 'tooldex', 'logins');
}

/**
 * Returns a store that keeps logins in a folder, with one file per server that only its owner can
 * read. Files are written atomically.
 *
 * A file that other users own or can read is refused, because whoever can write it decides which
 * account the program uses.
 */
export function loginsIn(folder: string): LoginStore {
  const pathOf = (key: string) => join(folder, `${key.slice(key.lastIndexOf(':') + 1)}.json`);
  const get = async (key: string) => {
    const file = await open(
      pathOf(key),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    ).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw unusable('read', error);
    });
    try {
      if (file === undefined) return undefined;
      const { mode, uid } = await file.stat();
      const isOwn =
        process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0);
      if (!isOwn)
        throw new ToolError(
          'STATE_UNAVAILABLE',
          `The login file ${pathOf(key)} is accessible to other users. Delete it and log in again, or run chmod 600 on it.`,
        );
      return await file.readFile('utf8');
    } finally {
      await file?.close();
    }
  };
  return Object.freeze({
    get,
    compareAndSet: async (key: string, expected: string | undefined, next: string | undefined) => {
      const path = pathOf(key);
      if ((await get(key)) !== expected) return false;
      const beside = `${path}.${randomUUID()}.tmp`;
      try {
        if (next === undefined) await rm(path, { force: true });
        else {
          await mkdir(folder, { recursive: true, mode: 0o700 });
          await writeFile(beside, next, { flag: 'wx', flush: true, mode: 0o600 });
          await chmod(beside, 0o600); // The process's umask may remove some permissions.
          // If several processes create the file, `link` succeeds for only one of them.
          await (expected === undefined ? link : rename)(beside, path);
        }
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
        throw unusable('write', error);
      } finally {
        await rm(beside, { force: true });
      }
    },
  });
}

function unusable(what: string, error: unknown): ToolError {
  return new ToolError(
    'STATE_UNAVAILABLE',
    `Could not ${what} the login file (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).`,
    { cause: error },
  );
}
