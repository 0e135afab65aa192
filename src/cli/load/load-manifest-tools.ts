import { resolve } from 'node:path';
import { CapabilityRegistry } from '../../capability/capability-registry.js';
import { ToolError } from '../../core/errors.js';
import type { LoadedRegistry } from './loaded-registry.js';

/** The tools of a folder of manifests, as a persona sees them; what is wrong is left out and reported. */
export async function loadManifestTools(folder: string, persona: string | undefined, cwd: string): Promise<LoadedRegistry> {
  const capabilities = await CapabilityRegistry.load({ root: resolve(cwd, folder) });
  const known = capabilities.personas;
  if (persona !== undefined && !known.some((name) => name.toLowerCase() === persona.trim().toLowerCase())) {
    throw new ToolError('INVALID_ARGUMENT', `expected --persona as one of ${known.join(', ') || 'none: the manifests name no persona'}, found ${JSON.stringify(persona)}`);
  }
  const registry = capabilities.registryFor(persona);
  const problems = capabilities.findings
    .filter(({ severity }) => severity === 'error')
    .map(({ file, line, column, entryName, message }) => ({ file: line === null ? file : `${file}:${line}:${column}`, reason: entryName === undefined ? message : `${JSON.stringify(entryName)}: ${message}` }));
  const fileOf = new Map([...registry].map(({ name }) => [name, capabilities.tool(name, persona)?.source ?? folder]));
  return { registry, problems, fileOf };
}
