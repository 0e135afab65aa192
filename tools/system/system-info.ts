import { arch, cpus, freemem, platform, release, totalmem } from 'node:os';
import { z } from 'zod';
import { tool } from '../../src/index.js';
import { SYSTEM_TOOL } from './system-tool.js';

const Input = z.object({});

/** Describes the machine, but without anything that identifies it or its user. */
@tool({
  ...SYSTEM_TOOL,
  name: 'system_info',
  description:
    "Returns the operating system, architecture, processors, memory and Node version of the machine. Doesn't include the name of the machine or its user.",
  inputSchema: Input,
  keywords: [
    'system',
    'operating system',
    'platform',
    'cpu',
    'memory',
    'ram',
    'node version',
    'architecture',
  ],
  mandatoryKeywords: ['system info', 'operating system'],
  examples: [
    'Which operating system is this?',
    'How much memory is free?',
    'What Node version runs here?',
  ],
  conflictKeys: () => ({ reads: ['system:machine'] }),
})
export class SystemInfo {
  execute() {
    const processors = cpus();
    return {
      platform: platform(),
      release: release(),
      architecture: arch(),
      cpuModel: processors[0]?.model.trim() ?? 'unknown',
      cpuCount: processors.length,
      memoryTotalBytes: totalmem(),
      memoryFreeBytes: freemem(),
      nodeVersion: process.versions.node,
    };
  }
}
