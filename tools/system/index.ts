import { DiskUsage } from './disk-usage.js';
import { EnvironmentVariables } from './environment-variables.js';
import { SystemInfo } from './system-info.js';

export { DiskUsage, EnvironmentVariables, SystemInfo };

/** The tools that look at the machine; `root` says whose disk is meant. */
export function createSystemTools({ root }: { readonly root?: string } = {}): readonly object[] {
  return [new SystemInfo(), new DiskUsage(root), new EnvironmentVariables()];
}
