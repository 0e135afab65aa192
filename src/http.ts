export { createDiscoveryApp } from './http/create-discovery-app.js';
export type { DiscoveryOptions } from './http/discovery-options.js';
export { serve, type RunningCatalogue, type ServeOptions } from './http/serve.js';
