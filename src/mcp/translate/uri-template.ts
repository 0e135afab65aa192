/** Maximum length of a URI that is matched with templates. */
const LONGEST_URI = 2_048;

/**
 * Returns true if a URI template (RFC 6570) can produce this URI. An expression with an operator
 * matches any characters, and an expression without one matches any except `/?#`. Each part of the
 * template reads each character once, whereas the SDK's matching can take seconds for a URI that
 * almost matches.
 */
export function isMadeBy(template: string, uri: string): boolean {
  if (uri.length > LONGEST_URI) return false;
  let ends = new Set([0]);
  for (const [index, part] of template.split(/\{([^{}]*)\}/).entries()) {
    const next = new Set<number>();
    for (const end of ends) {
      if (index % 2 === 0 && uri.startsWith(part, end)) next.add(end + part.length);
      for (let at = end; index % 2 === 1 && at <= uri.length && !next.has(at); at += 1) {
        next.add(at);
        if (/^\w/.test(part) && '/?#'.includes(uri[at] ?? '/')) break;
      }
    }
    ends = next;
  }
  return ends.has(uri.length);
}
