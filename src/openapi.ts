export {
  toolsFromOpenApi,
  type OpenApiFinding,
  type OpenApiOptions,
  type OpenApiTools,
} from './openapi/tools-from-openapi.js';
export type { Credential, Credentials } from './openapi/credentials.js';
