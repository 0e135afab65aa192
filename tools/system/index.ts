import { DiskUsage } from './disk-usage.js';
import { EnvironmentVariables } from './environment-variables.js';
import { SystemInfo } from './system-info.js';

export { DiskUsage, EnvironmentVariables, SystemInfo };

/** Creates the tools that inspect the machine. `root` selects the disk. */
export function createSystemTools({ root }: { readonly root?: string } = {}): readonly object[] {
  return [new SystemInfo(), new DiskUsage(root), new EnvironmentVariables()];
}
