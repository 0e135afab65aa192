/** Something about a server's tools that an operator should know. */
export interface McpFinding {
  /**
   * - refused: the tool is left out
   * - changed: something in it was put right, or left out
   * - duplicate: the server lists the name twice; the first is used
   * - look-alike: it may be taken for another tool
   */
  readonly kind: 'refused' | 'changed' | 'duplicate' | 'look-alike';
  readonly server: string;
  /** The tool as its server calls it, in quotes and with nothing hidden; missing where it has no name. */
  readonly tool?: string;
  readonly message: string;
}
