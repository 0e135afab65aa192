import { resolve } from 'node:path';
import { CapabilityRegistry } from '../../capability/capability-registry.js';
import type { LoadedRegistry } from './loaded-registry.js';

/** The tools of a folder of manifests, as a persona sees them; what is wrong is left out and reported. */
export async function loadManifestTools(folder: string, persona: string | undefined, cwd: string): Promise<LoadedRegistry> {
  const capabilities = await CapabilityRegistry.load({ root: resolve(cwd, folder) });
  const registry = capabilities.registryFor(persona);
  const problems = capabilities.findings
    .filter(({ severity }) => severity === 'error')
    .map(({ file, line, column, entryName, message }) => ({ file: line === null ? file : `${file}:${line}:${column}`, reason: entryName === undefined ? message : `${JSON.stringify(entryName)}: ${message}` }));
  const fileOf = new Map([...registry].map(({ name }) => [name, capabilities.tool(name, persona)?.source ?? folder]));
  return { registry, problems, fileOf };
}
