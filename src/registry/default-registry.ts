import { ToolMetadataRegistry } from './tool-metadata-registry.js';

/**
 * The key of this version's registry on `globalThis`. A test checks that the version matches
 * package.json.
 */
const KEY = Symbol.for('tooldex/0.1.0/default-registry');
const shared = globalThis as { [KEY]?: ToolMetadataRegistry };

/**
 * A shared registry for programs that need only one registry. The default registry is empty until
 * something is registered.
 *
 * If a process loads both builds of the package (ESM and CommonJS), they share this registry. A
 * program that uses `import` therefore sees tools that a library registered through `require`.
 */
export const defaultRegistry = (shared[KEY] ??= new ToolMetadataRegistry());
