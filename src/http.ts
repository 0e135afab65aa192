export { createDiscoveryApp } from './http/create-discovery-app.js';
export type { DiscoveryOptions } from './http/discovery-options.js';
export { serve, type ServeOptions } from './http/serve.js';
export type { RunningServer as RunningCatalogue } from './host/listen.js';
