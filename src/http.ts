export {
  createDiscoveryApp,
  type DiscoveryApp,
  type DiscoveryOptions,
} from './http/create-discovery-app.js';
export { serve, type ServeOptions } from './http/serve.js';
export type { RunningServer as RunningCatalogue } from './host/listen.js';
