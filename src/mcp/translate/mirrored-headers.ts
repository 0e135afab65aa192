/** The keyword that repeats an argument in the header `Mcp-Param-<name>` (2026 protocol, HTTP). */
const KEY = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];

/**
 * Returns the protocol's rules for `x-mcp-header` if a schema breaks them. Clients must skip a tool
 * that breaks these rules.
 */
export function wrongMirroredHeader(inputSchema: unknown): string | undefined {
  const names = new Set<string>();
  const isWrong = (node: unknown, place: 'root' | 'argument' | 'elsewhere'): boolean => {
    if (typeof node !== 'object' || node === null) return false;
    const { [KEY]: name, type } = node as Readonly<Record<string, unknown>>;
    if (name !== undefined) {
      const isRight = place === 'argument' && TYPES.includes(type) && TOKEN.test(name as string);
      if (typeof name !== 'string' || !isRight || names.has(name.toLowerCase())) return true;
      names.add(name.toLowerCase());
    }
    return Object.entries(node).some(([key, child]: [string, unknown]) =>
      key === 'properties' && typeof child === 'object' && child !== null
        ? Object.values(child).some((each) =>
            isWrong(each, place === 'elsewhere' ? 'elsewhere' : 'argument'),
          )
        : isWrong(child, 'elsewhere'),
    );
  };
  return isWrong(inputSchema, 'root')
    ? `Each "${KEY}" must name a different header, and belong to a string, integer or boolean that is reached only through "properties".`
    : undefined;
}
