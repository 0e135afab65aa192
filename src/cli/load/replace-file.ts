import { randomUUID } from 'node:crypto';
import { chmod, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Atomically writes or replaces a file. If the process dies while writing, the old file stays
 * intact. A link remains a link.
 *
 * @param mode The new permissions. @default the old file's permissions, or 644
 */
export async function replaceFile(path: string, text: string, mode?: number): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const permissions = mode ?? (await stat(target).catch(() => ({ mode: 0o644 }))).mode & 0o7777;
  const beside = join(dirname(target), `.${basename(target)}.${randomUUID()}.tmp`);
  try {
    await writeFile(beside, text, { flag: 'wx', flush: true, mode: permissions });
    await chmod(beside, permissions); // The process's umask may remove some permissions.
    await rename(beside, target);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}
