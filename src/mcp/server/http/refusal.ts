/** The answer to a request that is not let through, in the form that clients of the protocol read. */
export function refusal(message: string, status = 403): Response {
  return Response.json({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }, { status });
}
