export { CheckUrl } from './check-url.js';
export { ExtractLinks } from './extract-links.js';
export { FetchUrl } from './fetch-url.js';
export { HttpRequest } from './http-request.js';
