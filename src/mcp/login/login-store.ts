import { chmod, constants, link, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client';
import { pauseFor, type Clock } from '../../core/clock.js';
import { randomUUID, sha256Of } from '../../core/crypto.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { StateStore } from '../../state/state-store.js';
import type { Environment } from '../settings/transport-settings.js';

/** A place where logins are kept: any `StateStore`, or a folder. */
export type LoginStore = Pick<StateStore, 'get' | 'compareAndSet'>;

/** A login at one server, as it is kept. What the SDK writes carries the issuer for which it is good. */
export interface Login {
  /** The program as the authorization server knows it, where it registered itself. */
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
  /** The scopes that the next login asks for: the server has missed some of them. */
  readonly wanted?: string;
}

/** Attempts to write where other processes write the same login. */
const MOST_ATTEMPTS = 16;

/** Returns the key of the login at a server: a digest of its address, so that no other server is sent what is kept for it. */
export function loginKeyOf(serverUrl: string): string {
  return `tooldex:login:${sha256Of(new URL(serverUrl).href)}`;
}

/** Changes what is kept; `undefined` removes it. */
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

/** The end of the key of a lock. */
const LOCK = '.lock';
/** The longest that a process keeps the lock of a login, and the pause between two looks at the lock of another. */
const LOCK_MS = 60_000;
const PAUSE_MS = 50;

/** Works while no other process does for the same login. The lock of a process that has died ends after a minute. */
export async function whileLocked(
  store: LoginStore,
  key: string,
  clock: Clock,
  work: () => Promise<void>,
): Promise<void> {
  const lock = key + LOCK;
  for (;;) {
    const held = await store.get(lock);
    const own = `${clock.now() + LOCK_MS} ${randomUUID()}`;
    const isFree = held === undefined || !(parseInt(held, 10) > clock.now());
    if (isFree && (await store.compareAndSet(lock, held, own))) {
      try {
        return await work();
      } finally {
        await store.compareAndSet(lock, own, undefined);
      }
    }
    await pauseFor(PAUSE_MS, clock);
  }
}

/** Reads a login. One that cannot be read is none: the user logs in again. */
export function loginOf(text: string | undefined): Login {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return isPlainObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Returns the folder in which programs keep data of this user (XDG), or its place on Windows. */
export function loginFolder(env: Environment): string {
  const given = process.platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_DATA_HOME'];
  const base =
    given !== undefined && isAbsolute(given) ? given : join(homedir(), '.local', 'share');
  return join(base, 'tooldex', 'logins');
}

/**
 * Returns a store of logins in a folder: a file for each server, which only its owner can read, and which appears whole.
 *
 * A file that others can read, or that belongs to another user, is refused: who can write it decides as whom the program logs in.
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
          expectedGot(
            'a file of a login that only its owner can read and write',
            'one that others can',
            'Log in again after you have removed it, or set its mode to 600.',
          ),
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
          await chmod(beside, 0o600); // The process may mask some of it.
          if (expected === undefined) return await isNewLink(beside, path);
          if (!key.endsWith(LOCK)) await rename(beside, path);
          else {
            // Of all that take over the same lock only one gets this name, and it looks again while it has it.
            const turn = `${path}.${sha256Of(expected)}.tmp`;
            if (!(await isNewLink(beside, turn))) return false;
            if ((await get(key)) !== expected) {
              await rm(turn, { force: true });
              return false;
            }
            await rename(turn, path);
          }
        }
        return true;
      } catch (error) {
        await rm(beside, { force: true }).catch(() => undefined);
        throw isToolError(error) ? error : unusable('written', error);
      }
    },
  });
}

/** Gives a file a name that none has: of several processes, one does. A name that a dead process has left is free for the next attempt. */
async function isNewLink(file: string, name: string): Promise<boolean> {
  try {
    await link(file, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (name.endsWith('.tmp')) {
      const { mtimeMs = Infinity } = (await stat(name).catch(() => undefined)) ?? {};
      if (mtimeMs < Date.now() - LOCK_MS) await rm(name, { force: true });
    }
    return false;
  } finally {
    await rm(file, { force: true });
  }
}

function unusable(what: string, error: unknown): ToolError {
  return new ToolError(
    'STATE_UNAVAILABLE',
    expectedGot(
      `the file of a login to be ${what}`,
      (error as NodeJS.ErrnoException).code ?? 'an error',
    ),
    { cause: error },
  );
}
