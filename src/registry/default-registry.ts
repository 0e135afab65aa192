import { ToolMetadataRegistry } from './tool-metadata-registry.js';

/** The key of this version's registry on `globalThis`. A test compares it with package.json. */
const KEY = Symbol.for('tooldex/0.1.0/default-registry');
const shared = globalThis as { [KEY]?: ToolMetadataRegistry };

/**
 * A registry for programs that need only one. It's empty until the program registers something.
 *
 * If a process loads both builds of the package, ESM and CommonJS, they share this registry. A
 * program that uses `import` sees what a library registered through `require`.
 */
export const defaultRegistry = (shared[KEY] ??= new ToolMetadataRegistry());
