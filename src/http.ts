export { createDiscoveryApp, type DiscoveryApp } from './http/create-discovery-app.js';
export type { DiscoveryOptions, ServeOptions } from './http/discovery-options.js';
export { serve } from './http/serve.js';
export type { RunningServer as RunningCatalogue } from './host/listen.js';
