export { DiskUsage } from './disk-usage.js';
export { EnvironmentVariables } from './environment-variables.js';
export { SystemInfo } from './system-info.js';
