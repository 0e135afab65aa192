import { UrlWall, type UrlWallOptions } from '../walls/url-wall.js';
import { CheckUrl } from './check-url.js';
import { ExtractLinks } from './extract-links.js';
import { FetchUrl } from './fetch-url.js';
import { HttpRequest } from './http-request.js';

export { CheckUrl, ExtractLinks, FetchUrl, HttpRequest };

/** Creates the web tools, all behind one wall. */
export function createWebTools(options: UrlWallOptions = {}) {
  const wall = new UrlWall(options);
  return [
    new FetchUrl(wall),
    new CheckUrl(wall),
    new ExtractLinks(wall),
    new HttpRequest(wall),
  ] as const;
}
