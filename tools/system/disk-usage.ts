import { statfs } from 'node:fs/promises';
import { z } from 'zod';
import { fail, tool } from '../../src/index.js';
import { SYSTEM_TOOL } from './system-tool.js';

const Input = z.object({});

/** Returns the disk usage of the file system that contains the root. */
@tool({
  ...SYSTEM_TOOL,
  name: 'disk_usage',
  description:
    'Returns the total size, used and available bytes of the file system (disk) that contains the work tree. Read-only.',
  inputSchema: Input,
  keywords: ['disk', 'disk usage', 'disk space', 'free space', 'storage', 'full disk'],
  mandatoryKeywords: ['disk usage', 'disk space'],
  examples: ['How much disk space is left?', 'Is the disk full?', 'Show the disk usage'],
  conflictKeys: () => ({ reads: ['system:disk'] }),
})
export class DiskUsage {
  constructor(private readonly root: string = process.cwd()) {}

  async execute() {
    const disk = await statfs(this.root).catch(() => undefined);
    if (disk === undefined) return fail("The file system that contains the root can't be read.");
    const [totalBytes, usedBytes] = [
      disk.blocks * disk.bsize,
      (disk.blocks - disk.bfree) * disk.bsize,
    ];
    return {
      totalBytes,
      usedBytes,
      availableBytes: disk.bavail * disk.bsize,
      usedPercent: totalBytes === 0 ? 0 : Math.round((usedBytes / totalBytes) * 1000) / 10,
    };
  }
}
