// A TLS proxy for the servers of tooldex, which speak HTTP on this machine.
// Run it:  TLS_KEY=key.pem TLS_CERT=cert.pem SERVER_PORT=4781 node tls-proxy.mjs
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';

const { TLS_KEY = 'key.pem', TLS_CERT = 'cert.pem', PORT = '443', SERVER_PORT = '4781' } = process.env;
const server = createServer({ key: readFileSync(TLS_KEY), cert: readFileSync(TLS_CERT) }, (incoming, outgoing) => {
  const { method, url: path, headers } = incoming;
  const passed = request({ host: '127.0.0.1', port: SERVER_PORT, method, path, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    outgoing.flushHeaders(); // streams begin before they have something to say
    answer.pipe(outgoing);
  });
  passed.on('error', () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
  outgoing.on('close', () => passed.destroy()); // a client that has gone ends its call
  incoming.pipe(passed);
});
server.listen(Number(PORT), () => console.log(server.address().port));
