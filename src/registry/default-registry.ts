import { ToolMetadataRegistry } from './tool-metadata-registry.js';

/** A registry for programs that need only one. Nothing is in it until the program registers something. */
export const defaultRegistry = new ToolMetadataRegistry();
